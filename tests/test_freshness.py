"""What is told of known pages, read beside a crawl."""

from __future__ import annotations

import pytest

from tests.conftest import MakeCrawl
from tests.monitoring import DATED, LONG, NEWS, HandClock, Watch, rows
from tests.site import SmallSite
from tres_crawler.freshness import duration, freshness
from tres_crawler.recrawl.calendar import CalendarScheduler
from tres_crawler.store import crawls
from tres_crawler.store.database import Database

HOUR = 3600.0


async def test_figures_next_visits_and_news_of_a_monitor(
    site: SmallSite, watch: Watch, clock: HandClock, database: Database
) -> None:
    site.page("a.test/", links=["b.test/"], text=LONG)
    site.page("b.test/")
    given = {"policy": "whittle", "least_gap_seconds": 24 * HOUR, "first_gap_seconds": 48 * HOUR}
    running = await watch(pages=2, recrawl=given)
    site.page("a.test/", links=["b.test/"], text=f"{LONG} {NEWS}")
    await running.visit(2)
    await running.stop()
    told = await freshness(database, await crawls.get(database, 1), clock.now + 24 * HOUR)
    assert (told.mode, told.policy, told.sources) == ("monitor", "whittle", 2)
    assert (told.visits, told.changes, told.changes_per_100_visits) == (2, 1, 50.0)
    assert told.fresh is not None
    assert 0 < told.fresh < 1
    assert told.price is not None
    assert [item.url for item in told.news] == ["http://a.test/"]
    assert [words for is_new, words in told.news[0].segments if is_new] == [NEWS]
    visit = next(visit for visit in told.next if visit.url == "http://a.test/")
    assert visit.index is not None
    assert 0 < visit.index < visit.utility
    assert "last seen 24 h ago" in visit.why
    assert "likely to have changed" in visit.why
    older = await freshness(database, await crawls.get(database, 1), clock.now, before=told.news[0].id)
    assert older.news == []


@pytest.mark.parametrize("policy", ["whittle", "ephemeral"])
@pytest.mark.parametrize("dated", [{}, DATED])
async def test_the_index_that_is_told_is_the_one_that_decides(
    site: SmallSite, watch: Watch, clock: HandClock, database: Database, dated: dict[str, str], policy: str
) -> None:
    site.page("a.test/", text=LONG, headers=dated)
    running = await watch(pages=1, recrawl={"policy": policy, "least_gap_seconds": 24 * HOUR})
    for day in range(9):
        if not dated:
            site.page("a.test/", text=f"{LONG} {NEWS if day % 2 else ''}")
        await running.visit()
    page = next(iter((await rows(database)).values())).page
    assert running.crawl._revisits.list.estimates.belief(page).dated == bool(dated)
    await running.stop()
    schedule = running.crawl._revisits.scheduler
    assert isinstance(schedule, CalendarScheduler)
    (visit,) = (await freshness(database, await crawls.get(database, 1), clock.now + 24 * HOUR)).next
    assert visit.index == pytest.approx(schedule.index(visit.page, clock.now + 24 * HOUR))


async def test_other_policies_say_why_in_their_own_way(
    site: SmallSite, watch: Watch, clock: HandClock, database: Database
) -> None:
    site.page("a.test/")
    running = await watch(pages=1)
    await running.stop()
    told = await freshness(database, await crawls.get(database, 1), clock.now + 36 * HOUR)
    assert told.due == 1
    assert told.next[0].why == "last seen 36 h ago; visited every 24 h"
    assert told.next[0].index is None


async def test_a_crawl_without_recrawling_has_nothing_to_tell(
    site: SmallSite, make_crawl: MakeCrawl, database: Database
) -> None:
    site.page("a.test/")
    await (await make_crawl(site.topic("a.test/"), policy="random")).run()
    told = await freshness(database, await crawls.get(database, 1), 0.0)
    assert (told.mode, told.sources, told.fresh, told.next, told.news) == ("off", 0, None, [], [])


@pytest.mark.parametrize(
    ("seconds", "told"), [(-5, "0 s"), (90, "90 s"), (300, "5 min"), (7300, "2 h"), (90_000, "25 h"), (260_000, "3 d")]
)
def test_times_are_told_as_a_person_says_them(seconds: float, told: str) -> None:
    assert duration(seconds) == told
