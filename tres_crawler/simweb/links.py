"""The links that stand on a page of the simulated web."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from tres_crawler.simweb.chance import mix, pick
from tres_crawler.simweb.model import OLD, ON_TOPIC_FORMS, Form, Page, Web
from tres_crawler.simweb.sites import NO_TOPIC, Draw, Kind, Site

T = TypeVar("T")

MOST_LINKS = 250
NAVIGATION_PAGES = 6
TAIL = 1.6
"""Of the number of content links: a Pareto tail whose mean is TAIL / (TAIL - 1) times its least."""
RESOURCE_ANCHORS = (
    "links",
    "our friends",
    "resources",
    "useful addresses",
    "blogroll",
    "elsewhere",
    "recommended",
    "neighbours",
)
DIRECTORY_LINKS = 0.05
"""Chance that an on-topic page links to a directory's list for its topic."""
IMAGE_TEXTS = ("", "photo", "banner", "logo", "picture")


class SimLink(NamedTuple):
    """A link as it stands on a page; no anchor: an image with `image` as its text."""

    url: str
    anchor: str
    navigation: bool = False
    image: str = ""


def links_of(web: Web, page: Page) -> list[SimLink]:
    """Navigation first, then content links."""
    return [*_navigation(web, page), *_content(web, page)]


def _navigation(web: Web, page: Page) -> Iterator[SimLink]:
    site = web.sites[page.site]
    if site.kind is Kind.PARKED:
        return
    yield SimLink(_own(site, page, "/"), "Home", True)
    for number in range(1, min(NAVIGATION_PAGES, site.size - 1) + 1):
        target = web.page(site, number)
        named = web.topic_names[target.subject].title() if site.kind is Kind.PORTAL and target.subject >= 0 else ""
        label = named or pick(web.prose.common["nav"], site.bits, number).fill(0)
        yield SimLink(_own(site, page, web.path(target)), label, True)
    if site.has_calendar:
        yield SimLink(f"http://{site.host}/calendar/2026/11", "Calendar", True)
    if page.form is not Form.GATE:
        for near, label in ((page.number - 1, "Previous"), (page.number + 1, "Next")):
            if 0 < near < site.size:
                yield SimLink(_own(site, page, web.path(web.page(site, near))), label, True)


class Draws(NamedTuple):
    """Chance for one link, all drawn at once: a parameter that turns one draw's outcome leaves the others alone."""

    inside: float
    same: float
    region: float
    site: float
    home: float
    first: float
    second: float
    third: float
    name: float
    dead: float
    file: float
    redirect: float
    print: float
    detail: float
    anchor: float
    wording: float
    choice: float

    @classmethod
    def of(cls, rng: Random) -> Draws:
        return cls(*[rng.random() for _ in cls._fields])


def chosen(items: Sequence[T], draw: float) -> T:
    return items[int(draw * len(items))]


def _content(web: Web, page: Page) -> Iterator[SimLink]:
    if page.form is Form.PARKED:
        return
    rng = Random(mix(page.bits, Draw.LINKS))
    start, listed, directory = Draws.of(rng), rng.random(), Draws.of(rng)
    if page.form is Form.LISTING and page.subject in web.popular:
        yield from _listed(web, page, rng)
        return
    if page.form is Form.GATE:
        yield from _tunnel(web, page, rng)
    least = web.params.links_per_page * (TAIL - 1) / TAIL
    for _ in range(min(int(rng.paretovariate(TAIL) * least + listed), MOST_LINKS)):
        draws = Draws.of(rng)
        target = _target(web, page, draws)
        yield _dressed(web, page, target, draws)
    if page.subject == NO_TOPIC or page.form not in ON_TOPIC_FORMS:
        return
    regions = web.regions_of_topic.get(page.subject)
    if regions and start.same < web.params.tunnel_links:
        yield SimLink(web.url(web.gate(chosen(regions, start.region), 0)), chosen(RESOURCE_ANCHORS, start.anchor))
    if web.directories and directory.same < DIRECTORY_LINKS:
        yield _to_directory(web, page, directory)


def _target(web: Web, page: Page, draws: Draws) -> Page:
    """Where a content link leads: by chance, but with a leaning towards the page's own subject."""
    params, subject, site = web.params, page.subject, web.sites[page.site]
    if page.form is Form.STUFFED:
        return web.page(web.sites[web.popular[subject].draw(draws.site)], 0)
    if draws.inside < params.links_inside and site.size > 1:
        wanted = subject if subject != NO_TOPIC and draws.same < params.same_topic_inside else None
        return _page_like(web, site, wanted, draws)
    same = subject in web.popular and subject != NO_TOPIC and draws.same < params.same_topic_across
    region = web.region_of.get(page.site)
    if same and region and draws.region < 0.6:
        there = web.sites[chosen(region.sites, draws.site)]
    else:
        there = web.sites[web.popular[subject if same else NO_TOPIC].draw(draws.site)]
    if draws.home < 0.35:
        return web.page(there, 0)
    return _page_like(web, there, subject if same else None, draws)


def _page_like(web: Web, site: Site, subject: int | None, draws: Draws) -> Page:
    """A page of `site`, preferably about `subject`."""
    for draw in (draws.first, draws.second, draws.third):
        found = web.page(site, int(draw * site.size))
        if subject is None or found.subject == subject:
            break
    return found


def _listed(web: Web, page: Page, rng: Random) -> Iterator[SimLink]:
    """A hub's entries: sites of its subject, named as they name themselves."""
    for _ in range(30 + int(rng.random() * 40)):
        site = web.sites[web.popular[page.subject].draw(rng.random())]
        yield SimLink(f"http://{site.host}/", web.site_name(site))
    regions = web.regions_of_topic.get(page.subject)
    if regions and rng.random() < 0.3:
        yield SimLink(web.url(web.gate(chosen(regions, rng.random()), 0)), chosen(RESOURCE_ANCHORS, rng.random()))


def _tunnel(web: Web, page: Page, rng: Random) -> Iterator[SimLink]:
    region = web.regions[page.number]
    step = region.gates.index(page.site)
    if step + 1 < len(region.gates):
        yield SimLink(web.url(web.gate(region, step + 1)), chosen(RESOURCE_ANCHORS, rng.random()))
        return
    for number in region.sites:
        home = web.page(web.sites[number], 0)
        yield SimLink(web.url(home), _informative(web, home, rng.random(), rng.random()))


def _to_directory(web: Web, page: Page, draws: Draws) -> SimLink:
    site = web.sites[chosen(web.directories, draws.site)]
    fitting = [n for n in range(page.subject, site.size, len(web.topic_names)) if n] or [0]
    target = web.page(site, chosen(fitting, draws.first))
    return SimLink(web.url(target), chosen((web.title(target), "web directory", "more sites like this"), draws.anchor))


def _dressed(web: Web, page: Page, target: Page, draws: Draws) -> SimLink:
    """A link to `target` as it is written: sometimes dead, redirected, to a print version or a file."""
    there = web.sites[target.site]
    host = OLD + there.host.removeprefix("www.") if there.has_moved and draws.name < 0.4 else there.host
    path = _odd_path(web, target, draws) or web.path(target)
    anchor, image = _anchor(web, target, draws)
    if host == web.sites[page.site].host:
        return SimLink(_own(there, page, path), anchor, False, image)
    return SimLink(f"http://{host}{path}", anchor, False, image)


def _odd_path(web: Web, target: Page, draws: Draws) -> str | None:
    params = web.params
    if draws.dead < params.dead_links:
        return f"/gone/{int(draws.detail * 10**6)}"
    if target.form is Form.GATE:
        return None
    if draws.file < params.non_html:
        return f"/files/{target.number}.{chosen(('pdf', 'zip', 'jpg'), draws.detail)}"
    if draws.redirect < params.redirects:
        return f"/go/{1 + int(draws.detail * 3)}/{target.number}"
    return f"/print/{target.number}" if draws.print < params.canonical_links else None


def _own(site: Site, page: Page, path: str) -> str:
    """A link within a site; on a session site each carries an id that no other page's has."""
    if site.has_sessions:
        path += f"?sid={mix(page.bits, 25):016x}"
    return f"http://{site.host}{path}"


def _anchor(web: Web, target: Page, draws: Draws) -> tuple[str, str]:
    """Words of the link, and the text of its image where it has none."""
    params, draw = web.params, draws.anchor
    if draw < params.anchor_empty:
        return "", chosen(IMAGE_TEXTS, draws.wording)
    draw -= params.anchor_empty
    if draw < params.anchor_generic:
        return chosen(web.prose.common["generic_anchor"], draws.wording).fill(0), ""
    if draw - params.anchor_generic < params.anchor_misleading:
        facets = chosen(web.prose.topics, draws.choice).facets
        return chosen(chosen(facets, draws.wording).anchors, draws.detail).fill(target.bits), ""
    return _informative(web, target, draws.wording, draws.choice), ""


def _informative(web: Web, target: Page, wording: float, choice: float) -> str:
    if target.subject == NO_TOPIC or target.form is Form.FOREIGN or (target.number and wording < 0.5):
        return web.title(target)
    return chosen(web.prose.topics[target.subject].facets[target.facet].anchors, choice).fill(target.bits)
