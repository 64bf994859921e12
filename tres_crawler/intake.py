"""What a fetch brought → a page in the books: compared with what is known, judged, its links followed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from tres_crawler.ledger import Ledger
from tres_crawler.parse.page import MAX_ANCHOR_LENGTH
from tres_crawler.records import Document, Fetched, Outcome, Outlink, PageText, Topic
from tres_crawler.relevance import Relevance
from tres_crawler.revisits import Revisits
from tres_crawler.seen import Fingerprints, Seen
from tres_crawler.store import judging
from tres_crawler.store.content import Content
from tres_crawler.store.database import Change
from tres_crawler.store.pages import PageRecord
from tres_crawler.visits import Visit

LONG_CHARS = 50_000


class Intake:
    """Every page that was fetched goes through here once."""

    def __init__(
        self,
        crawl: int,
        topic: Topic,
        ledger: Ledger,
        relevance: Relevance,
        seen: Seen,
        content: Content,
        revisits: Revisits,
    ) -> None:
        self._crawl = crawl
        self._topic = topic
        self._ledger = ledger
        self._relevance = relevance
        self._seen = seen
        self._content = content
        self._revisits = revisits

    async def keep(self, visit: Visit, fetched: Fetched, document: Document) -> None:
        """Judge what was fetched and parsed, and save it."""
        page = self._ledger.page(
            visit, status=fetched.status, seconds=fetched.seconds, bytes=len(fetched.body), title=document.title
        )
        outlinks = _to_follow(document) if visit.link.depth < self._ledger.settings.max_depth else ()
        anchors = [outlink.anchor for outlink in outlinks]
        if document.noindex or not document.text:
            outcome = Outcome.NOINDEX if document.noindex else Outcome.EMPTY
            looks = (await self._relevance.judge.judge(None, anchors)).anchors
            title = "" if document.noindex else document.title
            await self._ledger.save_page(replace(page, outcome=outcome, title=title), outlinks, looks)
            return
        prints = await _fingerprints(document.text)
        copy = self._seen.copy_of(document, prints)
        page = replace(page, text_key=prints.exact, simhash=prints.near)
        if copy:
            await self._ledger.save_page(
                replace(page, outcome=Outcome.DUPLICATE, duplicate_of=copy.original, reason=copy.reason)
            )
            return
        text = PageText.of(document)
        judged = await self._relevance.judge.judge(text, anchors)
        assert judged.page is not None
        page = replace(page, judgement=judged.page, reward=float(judged.page.relevant))
        await self._ledger.save_page(page, outlinks, judged.anchors, self._kept(text, document, fetched, page))

    def _kept(
        self, text: PageText, document: Document, fetched: Fetched, page: PageRecord
    ) -> Callable[[int], Sequence[Change]]:
        """What is kept of a judged page: what the judge read, its content, and the label its topic gave it."""
        label = page.url in self._topic.relevant_examples
        named = label or page.url in self._topic.irrelevant_examples
        return lambda number: [
            judging.new_reading(self._crawl, number, text),
            *([judging.new_label(self._crawl, number, label)] if named else []),
            *self._content.keep(number, fetched, document),
            *(self._revisits.adopt(page, number, fetched, document) if page.reward else []),
        ]


async def _fingerprints(text: str) -> Fingerprints:
    """Of a long text beside the event loop, which it would stop for half a second."""
    if len(text) < LONG_CHARS:
        return Fingerprints.of(text)
    return await asyncio.to_thread(Fingerprints.of, text)


def _to_follow(document: Document) -> tuple[Outlink, ...]:
    """A page's outlinks, the address it names as its proper one first."""
    named = document.canonical
    if not named or named == document.url or document.nofollow:
        return document.outlinks
    return (Outlink(named, document.title[:MAX_ANCHOR_LENGTH].rstrip()), *document.outlinks)
