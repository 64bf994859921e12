"""Topic files for a simulated web: keywords a person might give, and a seed on that web."""

from __future__ import annotations

from pathlib import Path

from tres_crawler.errors import ConfigError
from tres_crawler.simweb.model import Web

KEYWORDS = {
    "arts": "painting theatre music novel gallery poetry film orchestra exhibition sculpture",
    "business": "company market investors revenue shares profit trade finance bank customers",
    "computers": "software programming database code network server security developers compiler algorithm",
    "food": "recipe cooking baking flavour restaurant kitchen dish sauce bread soup",
    "games": "game players chess puzzle cards console dice quest multiplayer tournament",
    "hardware": "processor motherboard memory keyboard graphics cooler chip monitor disk firmware",
    "health": "patients doctor hospital symptoms medicine treatment sleep disease nurse therapy",
    "news": "police council court officials witnesses residents emergency road report inquiry",
    "recreation": "hiking camping garden fishing travel trail tent hobby pets boat",
    "reference": "dictionary library encyclopedia atlas school archive glossary students history map",
    "science": "scientists physics species telescope experiment cells chemistry planet researchers energy",
    "society": "church law community parliament family rights charity voters marriage tradition",
    "sports": "match players league tennis football coach championship marathon team goal",
}


def write_topics(web: Web, folder: Path) -> list[Path]:
    """One file per topic that has a seed on this web."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_write(web, folder, name) for name in web.topic_names if web.seeds(name)]
    except OSError as error:
        raise ConfigError(f"The topics cannot be written to {folder}: {error.strerror}.") from error


def _write(web: Web, folder: Path, name: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(topic_text(name, web.seeds(name)[0]), encoding="utf-8")
    return path


def topic_text(name: str, seed: str) -> str:
    """A topic file: its keywords and one seed."""
    keywords = ", ".join(f'"{word}"' for word in KEYWORDS[name].split())
    return f'name = "{name}"\nkeywords = [{keywords}]\nseeds = ["{seed}"]\n'
