"""Trouble with a page → what becomes of its link: tried again, refused, or a failed page; and of its host."""

from __future__ import annotations

import logging

from tres_crawler.errors import BadStatus, Blocked, Disallowed, FetchError
from tres_crawler.fetch.pace import Pace
from tres_crawler.frontier.frontier import Frontier
from tres_crawler.frontier.places import Places
from tres_crawler.ledger import Ledger
from tres_crawler.records import LinkState, Offer, Outcome
from tres_crawler.store import crawls, links
from tres_crawler.store.database import Change
from tres_crawler.visits import Visit, Visits

logger = logging.getLogger(__name__)

GIVE_UP_TROUBLES = 8
"""So many troubles in a row and a host is given up: what waits for it is refused."""


class Troubles:
    """Whatever goes wrong with a link is written down once, as what became of it."""

    def __init__(
        self, crawl: int, retries: int, visits: Visits, frontier: Frontier, places: Places, ledger: Ledger
    ) -> None:
        self._crawl = crawl
        self._retries = retries
        self._visits = visits
        self._frontier = frontier
        self._places = places
        self._ledger = ledger

    async def write_down(self, visit: Visit, trouble: FetchError) -> None:
        link = visit.link
        logger.info("link %d: %s", link.number, trouble)
        if trouble.retry and link.attempts < self._retries:
            self._visits.give_back(visit)
            counted = links.count_attempt(self._crawl, link, trouble.reason)
            await self._ledger.save([], [counted, *self._quarantine(visit.host, trouble)])
            self._frontier.place([Offer.of(link)])
            return
        if link.source is None:
            self._ledger.seed_troubles.append(str(trouble))
        given_up = [*self._quarantine(visit.host, trouble), *self._given_up(visit.host, trouble)]
        if isinstance(trouble, Disallowed | Blocked):
            self._visits.give_back(visit)
            self._ledger.refused[trouble.reason] += 1
            ended = links.end_link(self._crawl, link.number, LinkState.REFUSED, trouble.reason)
            await self._ledger.save([], [ended, *given_up])
            return
        status = trouble.status if isinstance(trouble, BadStatus) else None
        page = self._ledger.page(visit, outcome=Outcome.FAILED, reason=trouble.reason, status=status)
        await self._ledger.save_page(page, others=lambda _: given_up)

    def _quarantine(self, host: int, trouble: FetchError) -> list[Change]:
        """Write down that a host is left alone for a while, when that begins."""
        name = self._places.names[host]
        if self._visits.visitor.troubles(name) != Pace.QUARANTINE_TROUBLES:
            return []
        return [crawls.event(self._crawl, "quarantine", host=name, reason=trouble.reason)]

    def _given_up(self, host: int, trouble: FetchError) -> list[Change]:
        """Refuse all that waits for a host that has been in trouble too often in a row."""
        name = self._places.names[host]
        if self._visits.visitor.troubles(name) < GIVE_UP_TROUBLES:
            return []
        dropped = self._frontier.drop(host)
        if not dropped:
            return []
        logger.warning("host %s is given up: %s", name, trouble.reason)
        self._ledger.refused["host given up"] += dropped
        return [
            links.refuse_host(self._crawl, host, self._ledger.last_link, "host given up"),
            crawls.event(self._crawl, "host given up", host=name, reason=trouble.reason),
        ]
