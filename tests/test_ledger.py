"""The figures of a crawl follow what is fetched, and what is held of it later."""

from __future__ import annotations

from tres_crawler.ledger import Tally
from tres_crawler.records import Outcome


def test_relevant_sites_are_those_with_a_relevant_page_whatever_is_judged_otherwise_later() -> None:
    tally = Tally()
    for site, relevant in ((1, True), (1, True), (2, False), (3, True), (4, False)):
        tally.add(site, Outcome.JUDGED, relevant)
    assert (tally.relevant_sites, len(tally.sites)) == (2, 4)
    assert not tally.judge_again(1, before=True, now=False)
    assert tally.relevant_sites == 2
    assert not tally.judge_again(1, before=True, now=False)
    assert (tally.relevant_sites, tally.relevant) == (1, 1)
    assert not tally.judge_again(4, before=False, now=False)
    assert tally.relevant_sites == 1
    assert tally.judge_again(2, before=False, now=True)
    assert tally.judge_again(1, before=False, now=True)
    assert not tally.judge_again(1, before=False, now=True)
    assert (tally.relevant_sites, tally.relevant) == (3, 4)
