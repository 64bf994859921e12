"""What the pages of a crawl were, by the truth of their web: what a harvest below 100 % went into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tres_crawler.simweb.model import Form, Web
from tres_crawler.simweb.truth import Request, pages_of

RELEVANT, COPY, NOT_THERE, ERROR = "relevant", "copies", "not_there", "errors"
EMPTY, FARM, LEADS_ON, NO_PAGE, OFF_TOPIC = (
    "thin_or_foreign",
    "farms",
    "lists_and_gates",
    "files_and_calendars",
    "off_topic",
)
KINDS = (RELEVANT, COPY, NOT_THERE, ERROR, EMPTY, FARM, LEADS_ON, NO_PAGE, OFF_TOPIC)
"""Copies are of relevant contents that the crawl has already, print versions too. Thin, foreign and farmed pages are
those that links promise the topic of; lists and gates those that lead to it."""


def spent(web: Web, requests: Iterable[Request], topic: str) -> dict[str, int]:
    """Pages of each kind, every address once; one that was ever answered with a page counts as answered."""
    wanted = web.topic_names.index(topic)
    answers: dict[tuple[str, str], int] = {}
    for request in pages_of(requests):
        address = request.host, request.path
        if answers.get(address) != 200:
            answers[address] = request.status
    kinds: Counter[str] = Counter()
    contents = set()
    for (host, path), status in answers.items():
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
        return NO_PAGE
    if web.truth(page) == wanted:
        return RELEVANT
    if page.form is Form.GATE:
        return LEADS_ON if web.gate_place(page)[0].topic == wanted else OFF_TOPIC
    if page.subject != wanted:
        return OFF_TOPIC
    return {Form.LISTING: LEADS_ON, Form.STUFFED: FARM}.get(page.form, EMPTY)
