"""One crawl of one simulated web, each in a process of its own: what the cells of a table and their judges share."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from tres_crawler.config import ENV_PREFIX, Settings
from tres_crawler.errors import ConfigError, TresError
from tres_crawler.experiments.fetch import running_web
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams, family
from tres_crawler.simweb.topics import topic_text

CAP = "50"
"""Most pages of a site unless a crawl says otherwise."""
MODULE = "tres_crawler"

Overrides = tuple[tuple[str, str], ...]
"""Settings laid over the defaults: (("learn.target", "advantage"),)."""


def scaled(name: str, number: int, scale: int = 1) -> WebParams:
    """A web of a family with so many times its sites and pages."""
    params = family(name, number)
    return family(name, number, sites=scale * params.sites, pages=scale * params.pages)


def web_with(name: str, number: int, topic: str, pages: int, scale: int = 1) -> Web:
    """A web of a family, if there is such a topic on it and so many pages."""
    params = scaled(name, number, scale)
    web = Web(params)
    known = [known for known in web.topic_names if web.seeds(known)]
    if topic not in known:
        raise ConfigError(
            f'Web {number} of the family "{name}" has no page about "{topic}" to begin at. It has: {", ".join(known)}.'
        )
    if pages > params.pages:
        raise ConfigError(
            f'Web {number} of the family "{name}" has {params.pages:,} pages; a crawl of {pages:,} cannot be measured '
            "on it. Give fewer --pages, or a --scale."
        )
    return web


def served(params: WebParams, folder: Path, log: Path) -> AbstractAsyncContextManager[str]:
    """The web on a free port; gives its address."""
    file = folder / "web.toml"
    given = params.model_dump(exclude_defaults=True)
    file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items()), encoding="utf-8")
    return running_web("--params", str(file), "--log", str(log))


def topic_file(web: Web, topic: str, seed: int, folder: Path) -> Path:
    """Ten keywords and a single seed URL: another one for every seed, as far as the web has them."""
    urls = web.seeds(topic, count=max(3, seed))
    path = folder / f"{topic}.toml"
    path.write_text(topic_text(topic, urls[(seed - 1) % len(urls)]), encoding="utf-8")
    return path


def effective(overrides: Overrides, sections: Sequence[str]) -> dict[str, Any]:
    """All settings of these sections, so that what depends on them is another thing when a default changes."""
    given: dict[str, dict[str, str]] = {}
    for key, value in overrides:
        section, _, field = key.partition(".")
        given.setdefault(section, {})[field] = value
    fields = Settings.model_fields
    return {name: type(fields[name].default)(**given.get(name, {})).model_dump() for name in sections}


def environment(overrides: Overrides) -> dict[str, str]:
    """Of a crawl: nobody's own settings, no pause between requests, one thread for each kind of work."""
    settings = {"fetch.delay_seconds": "0", "crawl.max_per_site": CAP, **dict(overrides)}
    own = {ENV_PREFIX + name.upper().replace(".", "__"): value for name, value in settings.items()}
    others = {name: value for name, value in os.environ.items() if not name.startswith(ENV_PREFIX)}
    return {"OMP_NUM_THREADS": "1", **others, **own}


async def started(arguments: Sequence[str], overrides: Overrides, module: str = MODULE) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-m", module, *arguments]
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, env=environment(overrides))


async def finished(process: asyncio.subprocess.Process, name: str) -> Mapping[str, Any]:
    """The summary that a crawl prints when it ends well."""
    try:
        told, trouble = await process.communicate()
    finally:
        await ended(process)
    if process.returncode:
        raise TresError(f"The crawl of {name} failed: {trouble.decode(errors='replace').strip()[-500:]}")
    summary: Mapping[str, Any] = json.loads(told)
    return summary


async def ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    # communicate, not wait: a pipe that nobody empties keeps its transport open.
    await process.communicate()
