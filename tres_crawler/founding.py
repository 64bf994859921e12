"""A topic and settings → a crawl in the store, with what it is to begin with."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from tres_crawler.config import Settings
from tres_crawler.errors import ControlError
from tres_crawler.policies.registry import LEARNERS, settled
from tres_crawler.records import Example, Topic
from tres_crawler.relevance import judge_of
from tres_crawler.store import crawls, judging, learning
from tres_crawler.store.crawls import StartKey
from tres_crawler.store.database import Change, Database

STORED_SECTIONS = ("fetch", "crawl", "urls", "relevance", "choose", "frontier", "features", "learn", "recrawl")
"""Settings that are kept with a crawl, so that a resumed one goes on as it began."""


async def create_crawl(
    database: Database,
    topic: Topic,
    settings: Settings,
    examples: Sequence[Example] = (),
    policy_from: int | None = None,
    judge_from: int | None = None,
    start: StartKey | None = None,
) -> int:
    """Write down a new crawl; `Crawl.load` then starts it like one that is resumed.

    With `policy_from` it begins with what that crawl has learned about links, with `judge_from` with its judge.
    """
    learned = await _learned(database, policy_from, settings) if policy_from else None
    judge = await judge_of(database, judge_from, topic, settings.relevance) if judge_from else None
    settings = settings.replaced("recrawl", topic.recrawl)
    kept = {name: getattr(settings, name).model_dump() for name in STORED_SECTIONS}
    seed = settings.crawl.seed if settings.crawl.seed is not None else secrets.randbits(32)

    def begun(number: int) -> list[Change]:
        given = [learning.copied_policy(number, learned)] if learned else []
        given += [judging.new_version(number, *judge)] if judge else []
        return [judging.new_examples(number, examples), *given]

    return await crawls.create(database, topic, kept, settings.crawl.policy, seed, start, begun)


async def _learned(database: Database, crawl: int, settings: Settings) -> bytes:
    """What a crawl has learned, if one with these settings can begin with it."""
    if settings.crawl.policy not in LEARNERS:
        raise ControlError(
            f"The policy {settings.crawl.policy} learns nothing, so it cannot begin with what was learned."
        )
    record = await crawls.get(database, crawl)
    learned = await learning.newest(database, crawl, learning.POLICY)
    if learned is None:
        raise ControlError(f"Crawl {crawl} ({record.policy}) has learned nothing yet that another could begin with.")
    from tres_crawler.policies.learning import check_policy  # imports torch

    check_policy(learned, settled(settings))
    return learned
