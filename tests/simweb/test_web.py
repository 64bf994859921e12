"""The simulated web as a whole: the same everywhere, lazily made, with the structure it promises."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from tres_crawler.parse import parse
from tres_crawler.records import Document, Fetched
from tres_crawler.simhash import NEAR, distance, simhash
from tres_crawler.simweb.answers import answer
from tres_crawler.simweb.describe import blind_harvest, resolve, split
from tres_crawler.simweb.links import SIGNPOSTS, links_of
from tres_crawler.simweb.model import COPIES, OLD, Form, Page, Web
from tres_crawler.simweb.params import FAMILIES, WebParams, family
from tres_crawler.simweb.render import SKELETONS, paragraphs_of, render, subjects_of
from tres_crawler.simweb.sites import LARGEST_SITE, NO_TOPIC, Kind, Robots

SMALL: dict[str, Any] = {"sites": 150, "pages": 2500, "seed": 5}


@cache
def web_of(**given: Any) -> Web:
    return Web(WebParams.of(**{**SMALL, **given}))


def some_pages(web: Web, count: int = 60) -> list[Page]:
    rng = random.Random(3)
    sites = rng.choices(web.sites, [site.size for site in web.sites], k=count)
    return [web.page(site, rng.randrange(site.size)) for site in sites]


DIGEST = """
import hashlib, sys
from tres_crawler.simweb.answers import answer
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.params import WebParams
web = Web(WebParams.of("hostile", sites=200, pages=3000, seed=9))
addresses = [(site.host, web.path(web.page(site, n))) for site in web.sites for n in range(0, site.size, 7)]
if sys.argv[1] == "backwards":
    addresses.reverse()
said = {address: answer(web, *address, hours=40.0) for address in addresses}
whole = hashlib.sha256()
for address in sorted(said):
    whole.update(repr((address, said[address])).encode())
print(whole.hexdigest())
"""


def test_the_same_seed_gives_the_same_bytes_in_any_process_and_order() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", DIGEST, order],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for order, seed in (("forwards", "1"), ("backwards", "2"))
    }
    assert len(found) == 1


def test_another_seed_is_another_web() -> None:
    one, other = web_of(), web_of(seed=6)
    assert not {site.host for site in one.sites} & {site.host for site in other.sites}


def words_of(web: Web, page: Page) -> object:
    """Title, paragraphs and headings of the article as rendered, without the links in it."""
    html = re.sub(r"<a .*?</a>", "", render(web, page))
    return [text.strip() for text in re.findall(r"<(?:h1|h2|p)>(.*?)</(?:h1|h2|p)>", html, re.DOTALL)]


def targets_of(web: Web, page: Page) -> object:
    return [resolve(web, *split(link.url))[1] for link in links_of(web, page)]


def anchors_of(web: Web, page: Page) -> object:
    return [(link.anchor, link.image) for link in links_of(web, page)]


def urls_of(web: Web, page: Page) -> object:
    return [link.url for link in links_of(web, page)]


def place_of(web: Web, page: Page) -> object:
    return web.url(page), page


@pytest.mark.parametrize(
    ("parameter", "value", "changed", "kept"),
    [
        ("anchor_generic", 0.6, [anchors_of], [urls_of, words_of, place_of]),
        ("anchor_misleading", 0.3, [anchors_of], [urls_of, words_of, place_of]),
        ("dead_links", 0.3, [urls_of], [anchors_of, words_of, place_of]),
        ("redirects", 0.3, [urls_of], [anchors_of, targets_of, words_of, place_of]),
        ("links_inside", 0.9, [urls_of], [words_of, place_of]),
        ("decoy_links", 0.3, [anchors_of], [urls_of, words_of, place_of]),
        ("url_words", 0.95, [urls_of, place_of], [anchors_of, targets_of, words_of]),
        ("url_misleading", 0.6, [urls_of], [anchors_of, targets_of, words_of]),
        ("moved_sites", 0.5, [urls_of], [anchors_of, targets_of, words_of, place_of]),
        ("robots_missing", 0.6, [], [urls_of, anchors_of, words_of, place_of]),
        ("forbidden_pages", 0.5, [urls_of], [anchors_of, words_of]),
        ("validators", 0.0, [], [urls_of, anchors_of, words_of, place_of]),
        ("directory_links", 0.9, [urls_of], [words_of, place_of]),
        ("broken_pages", 0.3, [], [urls_of, anchors_of, words_of, place_of]),
        ("slow_sites", 0.5, [], [urls_of, anchors_of, words_of, place_of]),
        ("changing", 0.0, [], [urls_of, anchors_of, words_of, place_of]),
        ("tunnel_links", 0.0, [], [words_of, place_of]),
        ("on_topic", 0.2, [place_of], []),
    ],
)
def test_changing_one_parameter_changes_only_what_it_should(
    parameter: str,
    value: float,
    changed: list[Callable[[Web, Page], object]],
    kept: list[Callable[[Web, Page], object]],
) -> None:
    before, after = web_of(), web_of(**{parameter: value})
    pages = [page for page in some_pages(before, 40) if not before.is_broken(page)]
    for aspect in kept:
        same = [
            aspect(before, page) == aspect(after, after.page(after.sites[page.site], page.number)) for page in pages
        ]
        assert all(same), f"{aspect.__name__} changed on {same.count(False)} of {len(same)} pages"
    for aspect in changed:
        assert any(
            aspect(before, page) != aspect(after, after.page(after.sites[page.site], page.number)) for page in pages
        )


def test_sites_share_all_pages_unequally() -> None:
    web = Web(WebParams(sites=2000, pages=100_000))
    sizes = sorted((site.size for site in web.sites), reverse=True)
    assert sum(sizes) == 100_000
    assert 1 <= sizes[-1] <= sizes[0] <= LARGEST_SITE
    assert sum(sizes[:200]) > 50_000, "a tenth of the sites has half of the pages"
    assert {site.kind for site in web.sites} == set(Kind)


def test_a_pages_address_leads_back_to_it() -> None:
    web = web_of()
    for page in web.all_pages():
        assert web.find(*split(web.url(page))) == page


def test_only_tunnels_lead_into_hidden_regions() -> None:
    web = web_of()
    hidden = {web.sites[number].host for number in web.region_of}
    assert hidden
    for page in web.all_pages():
        into = {split(link.url)[0] for link in links_of(web, page)} & hidden
        if page.form is Form.GATE:
            region, step = web.gate_place(page)
            is_last = step == len(region.gates) - 1
            assert into <= {web.sites[number].host for number in region.sites} if is_last else not into
        elif page.site not in web.region_of:
            assert not into, f"{web.url(page)} leads straight into a hidden region"


def test_a_tunnel_is_two_to_four_pages_off_the_topic_and_opens_on_the_topic() -> None:
    web = web_of()
    starts = {web.url(web.gate(region, 0)) for region in web.regions}
    assert starts
    for region in web.regions:
        assert 2 <= len(region.gates) <= 4
        assert len({number for number, _ in region.gates}) == len(region.gates)
        gates = [web.gate(region, step) for step in range(len(region.gates))]
        assert all(web.truth(gate) == NO_TOPIC for gate in gates)
        for gate, following in pairwise(gates):
            assert web.url(following) in {link.url for link in links_of(web, gate)}
        for gate in gates:
            site = web.sites[gate.site]
            assert region.topic not in site.topics
            assert site.robots is not Robots.BROKEN
            assert not web.path(gate).startswith("/private/")
    found = Counter(link.url for page in web.all_pages() for link in links_of(web, page) if link.url in starts)
    assert set(found) == starts, "every tunnel begins somewhere"
    assert sum(count > 1 for count in found.values()) > 0.8 * len(starts)


def test_a_tunnel_does_not_show_that_it_is_one() -> None:
    web = Web(WebParams.of(sites=600, pages=12_000, seed=5))
    gates = [web.gate(region, step) for region in web.regions for step in range(len(region.gates))]
    urls = {web.url(gate) for gate in gates}
    pages = [page for page in web.all_pages() if page.form is not Form.GATE]
    ordinary = [page for page in pages if page.subject == NO_TOPIC and page.form is Form.ARTICLE]
    titles = [".+".join(map(re.escape, template.parts)) for template in web.prose.neutral_titles]
    for page in (*ordinary, *gates):
        assert any(re.fullmatch(title, web.title(page)) for title in titles)
    folders = {web.path(page).split("/")[1] for page in ordinary}
    assert {web.path(gate).split("/")[1] for gate in gates} <= folders
    assert len({render(web, gate).count("<p>") for gate in gates}) > 3
    anchors, places = Counter[bool](), []
    for page in (*pages[::6], *gates):
        content = [link for link in links_of(web, page) if not link.navigation]
        anchors.update(link.url in urls for link in content if link.anchor in SIGNPOSTS)
        places += [at / len(content) for at, link in enumerate(content) if link.url in urls]
    assert anchors[False] > 5 * anchors[True], "a word such as 'our friends' seldom leads into a tunnel"
    assert sum(place > 0.5 for place in places) > 0.3 * len(places)


def test_a_hub_lists_sites_of_its_topic_and_is_off_the_topic_itself() -> None:
    web = web_of()
    hubs = [page for page in web.all_pages() if page.form is Form.LISTING and page.subject != NO_TOPIC]
    assert hubs
    for hub in hubs[:20]:
        assert web.truth(hub) == NO_TOPIC
        homes = [web.site_at(split(link.url)[0]) for link in links_of(web, hub) if not link.navigation]
        listed = [site for site in homes if site]
        assert len(listed) >= 30
        assert sum(hub.subject in site.topics for site in listed) > 0.9 * len(listed)


def test_a_link_farm_leads_to_farms_and_to_nothing_under_its_topics_words() -> None:
    web = web_of(farms=10.0)
    farmed = [page for page in web.all_pages() if page.form is Form.STUFFED][:60]
    targets = Counter[str]()
    for page in farmed:
        for link in links_of(web, page):
            if link.navigation:
                continue
            target = resolve(web, *split(link.url))[1]
            if target:
                targets[
                    "farm" if target.form is Form.STUFFED else "topic" if web.truth(target) >= 0 else "nothing"
                ] += 1
            assert link.anchor
    total = sum(targets.values())
    assert targets["farm"] > 0.5 * total
    assert targets["topic"] < 0.15 * total


def read(web: Web, page: Page) -> Document:
    """The page as the crawler reads it."""
    body, kind = render(web, page).encode(), "text/html; charset=utf-8"
    return parse(Fetched(web.url(page), 200, kind, body, None, 0.0))


def test_a_copy_reads_as_its_original_does_and_a_near_copy_nearly() -> None:
    web = web_of(copies=0.2, near_copies=0.2)
    seen = Counter[Form]()
    found = 0
    for page in some_pages(web, 500):
        if page.form not in COPIES:
            continue
        original = web.shown(page)
        assert original.form in (Form.ARTICLE, Form.HOME)
        assert web.content_of(*split(web.url(page))) == (original.site, original.number)
        mine, its = read(web, page), read(web, original)
        assert (mine.text == its.text) == (page.form is Form.COPY)
        assert {link.url for link in its.outlinks if not link.navigation} <= {link.url for link in mine.outlinks}
        assert mine.headings == its.headings
        seen[page.form] += 1
        found += page.form is Form.NEAR_COPY and distance(simhash(mine.text), simhash(its.text)) <= NEAR
    assert min(seen[form] for form in COPIES) > 50
    assert found > 0.8 * seen[Form.NEAR_COPY], "a near copy can be told by its hash"


def test_a_near_copy_differs_in_a_few_words_only() -> None:
    web = web_of(near_copies=0.4)
    for page in some_pages(web, 150):
        if page.form is Form.NEAR_COPY:
            mine, its = (" ".join(paragraphs_of(web, one)).split() for one in (page, web.shown(page)))
            assert len(mine) == len(its)
            assert 1 <= sum(one != other for one, other in zip(mine, its, strict=True)) <= 1 + len(its) // 200


def test_a_page_on_a_topic_begins_with_it_and_is_mostly_about_it() -> None:
    web, strays = web_of(), 0
    for page in some_pages(web, 800):
        if page.form in (Form.ARTICLE, Form.HOME):
            subjects = subjects_of(web, page)
            assert subjects[0] == page.subject
            assert sum(subject == page.subject for subject in subjects) > len(subjects) / 2
            strays += any(subject != page.subject for subject in subjects)
    assert strays > 50, "some pages stray"


def test_an_address_seldom_tells_the_topic_and_sometimes_a_wrong_one() -> None:
    web = Web(WebParams.of(sites=600, pages=12_000, seed=5))
    named = {
        slug: number
        for number, topic in enumerate(web.prose.topics)
        for slug in (topic.name, *(slug for facet in topic.facets for slug in facet.slugs))
    }
    told = right = on_topic = neutral = 0
    for page in some_pages(web, 3000):
        parts = re.sub(r"-?\d+(\.html|/)?$", "", web.path(page)).strip("/").split("/")
        said = next((named[part] for part in reversed(parts) if part in named), None)
        on_topic += web.truth(page) != NO_TOPIC
        told += said is not None
        right += said is not None and said == web.truth(page)
        neutral += parts[-1] in web.prose.neutral_slugs
    assert 0.25 < right / on_topic < 0.65, "recall"
    assert 0.5 < right / told < 0.85, "precision"
    assert neutral > 200, "pages on nothing have words in their addresses too"


def test_sites_are_built_in_three_ways_and_read_alike() -> None:
    web = web_of()
    marks = Counter[str]()
    for site in web.sites:
        if site.kind is Kind.TOPICAL:
            page = web.page(site, 0)
            html = render(web, page)
            marks[next(mark for mark in ("<article>", 'id="page"', "<table") if mark in html)] += 1
            document = read(web, page)
            assert document.text.startswith(web.title(page))
            assert paragraphs_of(web, page)[0] in document.text
            labels = " ".join(link.anchor for link in links_of(web, page) if link.navigation)
            assert labels in document.boilerplate, "navigation can be told apart"
            assert labels not in document.text
    assert len(marks) == len(SKELETONS)
    assert min(marks.values()) > 10


def test_pages_on_nothing_have_headings_too_and_foreign_ones_mostly_name_their_language() -> None:
    web = web_of(foreign_pages=0.4)
    pages = some_pages(web, 400)
    assert any("<h2>" in render(web, page) for page in pages if page.subject == NO_TOPIC and page.form is Form.ARTICLE)
    said = Counter(read(web, page).language for page in pages if page.form is Form.FOREIGN)
    assert set(said) == {"de", "en", "es", "fr"}
    assert said["en"] < 0.4 * sum(said.values())


def test_a_dead_link_looks_like_any_other() -> None:
    web = web_of(dead_links=0.5, non_html=0.0)
    dead = [
        split(link.url)[1]
        for page in some_pages(web)
        for link in links_of(web, page)
        if resolve(web, *split(link.url))[0] == "dead"
    ]
    folders = {web.path(page).split("/")[1] for page in web.all_pages()}
    assert len(dead) > 100
    assert {path.split("/")[1] for path in dead} <= folders


def test_traps_go_on_for_ever() -> None:
    web = web_of(session_sites=0.5, calendar_sites=0.5)
    trapped = next(site for site in web.sites if site.has_sessions and site.has_calendar and site.size > 20)
    path, met = "/", set[str]()
    for _ in range(30):
        body = answer(web, trapped.host, path).body.decode()
        links = re.findall(rf'<a href="http://{re.escape(trapped.host)}(/\?sid=\w+)"', body)
        assert links and links[0] not in met, "the home page of a session hands out a new session"
        path = links[0]
        met.add(path)
    assert web.find(trapped.host, path) == web.page(trapped, 0)
    assert b"/calendar/2099/4" in answer(web, trapped.host, "/calendar/2099/3").body


def test_every_link_of_a_session_site_works() -> None:
    web = web_of(session_sites=1.0, redirects=0.3, non_html=0.3, dead_links=0.0, broken_pages=0.0)
    for page in some_pages(web, 20):
        for link in links_of(web, page):
            assert answer(web, *split(link.url)).status in (200, 301, 302)


def test_a_print_version_has_a_version_of_its_own_that_stays() -> None:
    web = web_of(changing=1.0, fastest_change=1.0, slowest_change=1.0, validators=1.0, broken_pages=0.0)
    site = max((site for site in web.sites if site.kind is Kind.TOPICAL), key=lambda one: one.size)
    page = next(p for p in (web.page(site, n) for n in range(1, site.size)) if p.form is Form.ARTICLE)
    prints = {dict(answer(web, site.host, f"/print/{page.number}", hours).headers)["ETag"] for hours in (0.0, 99.0)}
    pages = {dict(answer(web, site.host, web.path(page), hours).headers)["ETag"] for hours in (0.0, 99.0)}
    assert (len(prints), len(pages), prints & pages) == (1, 2, set())


def test_a_site_has_one_robots_txt_of_four_kinds_at_the_rates_asked_for() -> None:
    params = WebParams.of(sites=3000, pages=3000, robots_rules=0.3, robots_missing=0.3, robots_broken=0.1)
    found = Counter(site.robots for site in Web(params).sites)
    for kind, rate in ((Robots.RULES, 0.3), (Robots.MISSING, 0.3), (Robots.BROKEN, 0.1), (Robots.PLAIN, 0.3)):
        assert abs(found[kind] / 3000 - rate) < 0.03


def test_topics_share_the_large_sites_and_portals_are_large() -> None:
    web = Web(WebParams())
    pages = Counter[int]()
    for site in web.sites:
        if site.kind is Kind.TOPICAL:
            pages[site.topics[0]] += site.size
    common = [pages[at] for at, name in enumerate(web.topic_names) if name not in web.params.rare_topics]
    assert max(common) < 1.2 * min(common)
    means = {kind: [site.size for site in web.sites if site.kind is kind] for kind in (Kind.PORTAL, Kind.TOPICAL)}
    portal, topical = (sum(sizes) / len(sizes) for sizes in means.values())
    assert portal > 2 * topical


def test_redirects_end_at_the_page_within_three_hops() -> None:
    web = web_of()
    site = max(web.sites, key=lambda one: one.size)
    host, path, hops = site.host, "/go/3/4", 0
    while (said := answer(web, host, path)).status == 302:
        host, path = split(dict(said.headers)["Location"])
        hops += 1
    assert (hops, web.find(host, path)) == (3, web.page(site, 4))
    moved = next(one for one in web_of(moved_sites=0.5).sites if one.has_moved)
    said = answer(web_of(moved_sites=0.5), OLD + moved.host.removeprefix("www."), "/")
    assert (said.status, dict(said.headers)["Location"]) == (301, f"http://{moved.host}/")


def test_a_print_version_names_its_original() -> None:
    web = web_of()
    site = max(web.sites, key=lambda one: one.size)
    page = web.page(site, 4)
    assert f'rel="canonical" href="{web.url(page)}"'.encode() in answer(web, site.host, "/print/4").body


def test_a_clean_web_has_no_bad_manners() -> None:
    web = Web(WebParams.of("clean", **SMALL))
    for page in some_pages(web, 20):
        assert page.form in (Form.ARTICLE, Form.HOME, Form.LISTING)
        for link in links_of(web, page):
            said = answer(web, *split(link.url))
            assert (said.status, said.wait_seconds) == (200, 0.0)
    assert {web.robots(site.host) for site in web.sites} == {(200, "User-agent: *\nDisallow:\n")}


def test_a_hostile_web_has_them_all() -> None:
    web = Web(WebParams.of("hostile", **SMALL))
    outcomes = Counter[int]()
    for page in some_pages(web, 30):
        outcomes.update(answer(web, *split(link.url)).status for link in links_of(web, page))
    assert {200, 301, 302, 404, 500} <= set(outcomes)
    assert {status for status, _ in map(web.robots, (site.host for site in web.sites))} == {200, 404, 503}


@pytest.mark.parametrize(
    ("params", "topics"),
    [
        (WebParams(seed=1), FAMILIES["report"]["topics"]),
        (family("report", 0), FAMILIES["report"]["topics"]),
        (family("tune", 1), FAMILIES["tune"]["topics"][:2]),
    ],
    ids=["default", "report", "tune"],
)
def test_a_random_crawler_harvests_what_the_papers_does(params: WebParams, topics: tuple[str, ...]) -> None:
    """TRES, Table 3: a random crawler's harvest is 2 to 9 % (3.55, 8.97 and 1.66 % there)."""
    web = Web(params)
    found = {topic: blind_harvest(web, topic, 2000, seed=1) for topic in topics}
    assert 0.02 <= sum(found.values()) / len(found) <= 0.09, found
    assert all(0.015 <= harvest <= 0.09 for harvest in found.values()), found
