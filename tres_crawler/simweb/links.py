"""The links that stand on a page of the simulated web."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from tres_crawler.simweb.chance import mix, pick
from tres_crawler.simweb.model import OLD, ON_TOPIC_FORMS, PROMISING_FORMS, Form, Page, Web
from tres_crawler.simweb.sites import NO_TOPIC, Draw, Kind, Site
from tres_crawler.simweb.tunnels import Region

T = TypeVar("T")

MOST_LINKS = 250
NAVIGATION_PAGES = 6
TAIL = 1.6
"""Of the number of content links: a Pareto tail whose mean is TAIL / (TAIL - 1) times its least."""
FARM_LINKS_TO_FARMS = 0.6
SIGNPOSTS = (
    "links",
    "our friends",
    "resources",
    "useful addresses",
    "blogroll",
    "elsewhere",
    "recommended",
    "neighbours",
)
"""Words under which tunnels are linked to, and now and then any other page."""
IMAGE_TEXTS = ("", "photo", "banner", "logo", "picture")


class SimLink(NamedTuple):
    """A link as it stands on a page; no anchor: an image with `image` as its text."""

    url: str
    anchor: str
    navigation: bool = False
    image: str = ""
    promise: int = NO_TOPIC
    """Of a content link drawn by chance: the topic it is meant to lead to, also where nothing is."""


def links_of(web: Web, page: Page, visit: int = 0) -> list[SimLink]:
    """Navigation first, then content links, which a copy has from its original.

    `visit` stands for the session that asks, where the site tells sessions apart.
    """
    return [*_navigation(web, page, visit), *_content(web, web.shown(page), visit)]


def _navigation(web: Web, page: Page, visit: int) -> Iterator[SimLink]:
    site = web.sites[page.site]
    if site.kind is Kind.PARKED:
        return
    yield SimLink(_own(site, page, "/", visit), "Home", True)
    for number in range(1, min(NAVIGATION_PAGES, site.size - 1) + 1):
        target = web.page(site, number)
        in_section = site.kind is Kind.PORTAL and site.has_sections and target.subject != NO_TOPIC
        named = web.topic_names[target.subject].title() if in_section else ""
        label = named or pick(web.prose.common["nav"], site.bits, number).fill(0)
        yield SimLink(_own(site, page, web.path(target), visit), label, True)
    if site.has_calendar:
        yield SimLink(f"http://{site.host}/calendar/2026/11", "Calendar", True)
    # A gate stands after the site's last page and looks like it.
    for near, label in ((min(page.number, site.size) - 1, "Previous"), (page.number + 1, "Next")):
        if 0 < near < site.size:
            yield SimLink(_own(site, page, web.path(web.page(site, near)), visit), label, True)


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
    decoy: float
    place: float

    @classmethod
    def of(cls, rng: Random) -> Draws:
        draw = rng.random
        return cls(*[draw() for _ in range(DRAWS)])


DRAWS = len(Draws._fields)


def chosen(items: Sequence[T], draw: float) -> T:
    return items[int(draw * len(items))]


def _content(web: Web, page: Page, visit: int) -> list[SimLink]:
    if page.form is Form.PARKED:
        return []
    rng = Random(mix(page.bits, Draw.LINKS))
    start, listed, directory = Draws.of(rng), rng.random(), Draws.of(rng)
    if page.form is Form.LISTING and page.subject in web.popular:
        return list(_listed(web, page, rng))
    least = web.params.links_per_page * (TAIL - 1) / TAIL
    found = []
    for _ in range(min(int(rng.paretovariate(TAIL) * least + listed), MOST_LINKS)):
        draws = Draws.of(rng)
        found.append(_dressed(web, page, _target(web, page, draws), draws, visit))
    # Put in between the others: their place must not give them away.
    for place, link in (*_special(web, page, start, directory), *_tunnels(web, page, start)):
        found.insert(int(place * (len(found) + 1)), link)
    return found


def _special(web: Web, page: Page, start: Draws, directory: Draws) -> Iterator[tuple[float, SimLink]]:
    """Now and then a tunnel or a directory's list for the page's topic, with their places on the page."""
    if page.subject == NO_TOPIC or page.form not in ON_TOPIC_FORMS:
        return
    regions = web.regions_of_topic.get(page.subject)
    if regions and start.same < web.params.tunnel_links:
        yield start.place, _to_gate(web, chosen(regions, start.region), 0, start)
    if web.directories and directory.same < web.params.directory_links:
        yield directory.place, _to_directory(web, page, directory)


def _tunnels(web: Web, page: Page, start: Draws) -> Iterator[tuple[float, SimLink]]:
    """What an entry of tunnels and a gate must link to, with its place on the page."""
    rng = Random(mix(page.bits, Draw.REGION))
    if page.form is not Form.GATE:
        for region in web.entries.get((page.site, page.number), ()):
            draws = Draws.of(rng)
            yield draws.place, _to_gate(web, region, 0, draws)
        return
    region, step = web.gate_place(page)
    if step + 1 < len(region.gates):
        yield start.place, _to_gate(web, region, step + 1, start)
        return
    for number in region.sites:
        home, draws = web.page(web.sites[number], 0), Draws.of(rng)
        anchor, image = _anchor(web, page, home, draws)
        yield draws.place, SimLink(web.url(home), anchor, False, image)


def _to_gate(web: Web, region: Region, step: int, draws: Draws) -> SimLink:
    """A link to a page of a tunnel, under words that say as little as those of other links to pages on nothing."""
    gate = web.gate(region, step)
    if draws.decoy < 0.4:
        return SimLink(web.url(gate), chosen(SIGNPOSTS, draws.wording))
    if draws.decoy < 0.7:
        return SimLink(web.url(gate), chosen(web.prose.common["generic_anchor"], draws.wording).fill(0))
    return SimLink(web.url(gate), web.title(gate))


def _target(web: Web, page: Page, draws: Draws) -> Page:
    """Where a content link leads: by chance, but with a leaning towards the page's own subject."""
    params, subject, site = web.params, page.subject, web.sites[page.site]
    if page.form is Form.STUFFED:
        return _farmed(web, draws)
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


def _farmed(web: Web, draws: Draws) -> Page:
    """Where a link farm leads: mostly to farms, else to pages on nothing."""
    if draws.same < FARM_LINKS_TO_FARMS:
        farm = web.sites[chosen(web.farms, draws.site)]
        return web.page(farm, int(draws.first * farm.size))
    return _page_like(web, web.sites[web.popular[NO_TOPIC].draw(draws.site)], NO_TOPIC, draws)


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
        yield _to_gate(web, chosen(regions, rng.random()), 0, Draws.of(rng))


def _to_directory(web: Web, page: Page, draws: Draws) -> SimLink:
    site = web.sites[chosen(web.directories, draws.site)]
    fitting = [n for n in range(page.subject, site.size, len(web.topic_names)) if n] or [0]
    target = web.page(site, chosen(fitting, draws.first))
    return SimLink(web.url(target), chosen((web.title(target), "web directory", "more sites like this"), draws.anchor))


def _dressed(web: Web, page: Page, target: Page, draws: Draws, visit: int) -> SimLink:
    """A link to `target` as it is written: sometimes dead, redirected, to a print version or a file."""
    there = web.sites[target.site]
    is_old = there.has_moved and draws.name < web.params.old_names
    host = OLD + there.host.removeprefix("www.") if is_old else there.host
    path = _odd_path(web, target, draws) or web.path(target)
    anchor, image = _anchor(web, page, target, draws)
    is_own = not is_old and there.number == page.site
    url = _own(there, page, path, visit) if is_own else f"http://{host}{path}"
    promise = target.subject if target.form in PROMISING_FORMS else NO_TOPIC
    return SimLink(url, anchor, False, image, promise)


def _odd_path(web: Web, target: Page, draws: Draws) -> str | None:
    params = web.params
    if draws.dead < params.dead_links:
        return web.dead_path(target, draws.detail)
    if draws.file < params.non_html:
        return f"/files/{target.number}.{chosen(('pdf', 'zip', 'jpg'), draws.detail)}"
    if draws.redirect < params.redirects:
        return f"/go/{1 + int(draws.detail * 3)}/{target.number}"
    return f"/print/{target.number}" if draws.print < params.canonical_links else None


def _own(site: Site, page: Page, path: str, visit: int) -> str:
    """A link within a site; on a session site it carries an id that no other answer's links have."""
    if site.has_sessions:
        path += f"?sid={mix(page.bits, 25, visit):016x}"
    return f"http://{site.host}{path}"


def _anchor(web: Web, page: Page, target: Page, draws: Draws) -> tuple[str, str]:
    """Words of the link, and the text of its image where it has none."""
    if page.form is Form.STUFFED:
        return _topic_words(web, page.subject, target, draws), ""
    if draws.decoy < web.params.decoy_links:
        return chosen(SIGNPOSTS, draws.wording), ""
    params, draw = web.params, draws.anchor
    if draw < params.anchor_empty:
        return "", chosen(IMAGE_TEXTS, draws.wording)
    draw -= params.anchor_empty
    if draw < params.anchor_generic:
        return chosen(web.prose.common["generic_anchor"], draws.wording).fill(0), ""
    if draw - params.anchor_generic < params.anchor_misleading:
        return _topic_words(web, int(draws.choice * len(web.topic_names)), target, draws), ""
    return _informative(web, target, draws.wording, draws.choice), ""


def _topic_words(web: Web, topic: int, target: Page, draws: Draws) -> str:
    facets = web.prose.topics[topic].facets
    return chosen(chosen(facets, draws.wording).anchors, draws.detail).fill(target.bits)


def _informative(web: Web, target: Page, wording: float, choice: float) -> str:
    untold = target.subject == NO_TOPIC or target.form is Form.FOREIGN
    if untold or (target.number and wording < 0.5):
        return web.title(target)
    return chosen(web.prose.topics[target.subject].facets[target.facet].anchors, choice).fill(target.bits)
