"""What the pages of a crawl were, by the truth of their web: what a harvest below 100 % went into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tres_crawler.simweb.model import Form, Web
from tres_crawler.simweb.truth import Request, pages_of

RELEVANT, COPY, NOT_THERE, ERROR = "relevant", "copies", "not_there", "errors"
EMPTY, FARM, LEADS_ON, OFF_TOPIC = "thin_or_foreign", "farms", "lists_and_gates", "off_topic"
KINDS = (RELEVANT, COPY, NOT_THERE, ERROR, EMPTY, FARM, LEADS_ON, OFF_TOPIC)
"""Thin, foreign and farmed pages carry the topic in their name and address, and have nothing to say on it."""


def spent(web: Web, requests: Iterable[Request], topic: str) -> dict[str, int]:
    """Pages of each kind, every address once, by its last answer."""
    wanted = web.topic_names.index(topic)
    last = {(request.host, request.path): request.status for request in pages_of(requests)}
    kinds: Counter[str] = Counter()
    contents = set()
    for (host, path), status in last.items():
        kind = _kind(web, host, path, status, wanted)
        content = web.content_of(host, path)
        kinds[COPY if kind == RELEVANT and content in contents else kind] += 1
        if kind == RELEVANT:
            contents.add(content)
    return {kind: kinds[kind] for kind in KINDS}


def _kind(web: Web, host: str, path: str, status: int, wanted: int) -> str:
    if status != 200:
        return NOT_THERE if status in (404, 410) else ERROR
    page = web.find(host, path)
    if page is None:
        return OFF_TOPIC
    if web.truth(page) == wanted:
        return RELEVANT
    if page.form in (Form.LISTING, Form.GATE):
        return LEADS_ON
    if page.subject != wanted:
        return OFF_TOPIC
    return FARM if page.form is Form.STUFFED else EMPTY
