"""A simulated web in figures and pictures: what a person should know of it before resting figures on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any

from rich.table import Table

from tres_crawler.errors import ConfigError
from tres_crawler.simweb.answers import answer
from tres_crawler.simweb.links import links_of
from tres_crawler.simweb.model import Form, Page, Web
from tres_crawler.simweb.params import FAMILIES
from tres_crawler.simweb.sites import Kind

SAMPLE_PAGES = 1000
BLIND_PAGES = 1000
"""Pages of a blind crawl, but no more than a tenth of the web."""
MOST_HOPS = 6
MOST_PER_HOST = 100


@dataclass(frozen=True)
class Description:
    """Figures of a web, some from a sample of its pages."""

    kinds: dict[str, tuple[int, int]]
    """Sites and pages by kind."""
    largest_site: int
    median_site: float
    topics: dict[str, tuple[float, int]]
    """Share of all pages, and number of sites about it."""
    blind: dict[str, tuple[float, float]]
    """For some topics, the harvest of a random and of a breadth-first crawler from the topic's seed."""
    forms: dict[str, float]
    mixing: list[list[float]]
    """Row: a page's topic, column: its content links' topics; the last of both is none."""
    links: list[int]
    in_links: list[int]
    outcomes: dict[str, float]
    """What links lead to: page, dead, redirect, other name, not HTML."""
    across: float
    anchors: dict[str, float]
    hidden_pages: float
    regions: int
    tunnel_lengths: dict[int, int]


def describe(web: Web, seed: int = 1) -> Description:
    rng = Random(seed)
    sample = _sample(web, rng)
    names = [*web.topic_names, "none"]
    mixing = [[0] * len(names) for _ in names]
    outcomes: Counter[str] = Counter()
    anchors: Counter[str] = Counter()
    degrees: list[int] = []
    targets: Counter[str] = Counter()
    across = 0
    generic = {template.fill(0) for template in web.prose.common["generic_anchor"]}
    for page in sample:
        content = [link for link in links_of(web, page) if not link.navigation]
        degrees.append(len(content))
        for link in content:
            host, path = split(link.url)
            outcome, target = resolve(web, host, path)
            outcomes[outcome] += 1
            across += host != web.sites[page.site].host
            anchors["empty" if not link.anchor else "generic" if link.anchor in generic else "words"] += 1
            if target:
                targets[web.url(target)] += 1
                mixing[web.truth(page)][web.truth(target)] += 1
    total = sum(degrees) or 1
    sizes = [site.size for site in web.sites]
    return Description(
        kinds={kind.name.lower(): _kind(web, kind) for kind in Kind},
        largest_site=max(sizes),
        median_site=median(sizes),
        topics=_topics(web, sample),
        blind=_blind(web),
        forms={
            form.name.lower(): _share(page.form is form for page in sample) for form in Form if form is not Form.GATE
        },
        mixing=[[cell / (sum(row) or 1) for cell in row] for row in mixing],
        links=degrees,
        in_links=sorted(targets.values(), reverse=True),
        outcomes={name: count / total for name, count in outcomes.most_common()},
        across=across / total,
        anchors={name: count / total for name, count in anchors.most_common()},
        hidden_pages=sum(web.sites[number].size for number in web.region_of) / sum(sizes),
        regions=len(web.regions),
        tunnel_lengths=dict(sorted(Counter(len(region.gates) for region in web.regions).items())),
    )


def split(url: str) -> tuple[str, str]:
    host, _, path = url.removeprefix("http://").partition("/")
    return host, f"/{path}"


def resolve(web: Web, host: str, path: str) -> tuple[str, Page | None]:
    """What a link leads to in the end, redirects followed."""
    outcome = "page"
    for _ in range(MOST_HOPS):
        page = web.find(host, path)
        if page:
            return outcome, page
        said = answer(web, host, path)
        location = dict(said.headers).get("Location")
        if not location:
            return ("not html" if said.status == 200 else "dead"), None
        outcome = "redirect" if said.status == 302 or outcome == "redirect" else "old name"
        host, path = split(location)
    return "dead", None


def tables(web: Web, found: Description) -> Iterable[Table]:
    """The description for a terminal."""
    kinds = Table(
        "kind of site",
        "sites",
        "pages",
        title=f"{len(web.sites):,} sites, {web.params.pages:,} pages, seed {web.params.seed}",
    )
    for name, (sites, pages) in found.kinds.items():
        kinds.add_row(name, f"{sites:,}", f"{pages:,}")
    yield kinds
    topics = Table("topic", "share of pages", "sites about it", "random", "breadth-first", title="Topics")
    for name, (part, sites) in found.topics.items():
        topics.add_row(name, f"{part:.1%}", f"{sites:,}", *(f"{harvest:.1%}" for harvest in found.blind.get(name, ())))
    topics.caption = (
        f"Random and breadth-first: harvest of such a crawler after {_blind_pages(web):,} pages from one seed"
    )
    yield topics
    same = [row[at] for at, row in enumerate(found.mixing[:-1])]
    facts = Table("figure", "value", title=f"Links and pages (from a sample of {len(found.links):,} pages)")
    facts.add_row("largest and median site", f"{found.largest_site:,} and {found.median_site:g} pages")
    facts.add_row("content links on a page", f"mean {mean(found.links):.1f}, largest {max(found.links)}")
    facts.add_row("links to another site", f"{found.across:.1%}")
    facts.add_row("links of an on-topic page to the same topic", f"{mean(same):.1%}")
    facts.add_row("links lead to", ", ".join(f"{name} {part:.1%}" for name, part in found.outcomes.items()))
    facts.add_row("anchors", ", ".join(f"{name} {part:.1%}" for name, part in found.anchors.items()))
    facts.add_row("forms of page", ", ".join(f"{name} {part:.1%}" for name, part in found.forms.items() if part))
    facts.add_row("hidden regions", f"{found.regions} with {found.hidden_pages:.1%} of all pages")
    facts.add_row(
        "tunnels by length", ", ".join(f"{length}: {count}" for length, count in found.tunnel_lengths.items())
    )
    yield facts


def plot(web: Web, found: Description, folder: Path) -> list[Path]:
    """Pictures: sizes of sites, degrees, topic mixing."""
    try:
        import matplotlib
    except ImportError as error:
        raise ConfigError("Pictures need matplotlib: pip install 'tres-crawler[plots]'.") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    make_folder(folder)
    made = []
    try:
        for name, draw in (("sizes", _plot_sizes), ("degrees", _plot_degrees), ("mixing", _plot_mixing)):
            figure, axes = pyplot.subplots(figsize=(8, 6), layout="constrained")
            draw(web, found, axes)
            made.append(folder / f"{name}.png")
            figure.savefig(made[-1], dpi=110)
            pyplot.close(figure)
    except OSError as error:
        raise ConfigError(f"The pictures cannot be written to {folder}: {error.strerror}.") from error
    return made


def make_folder(folder: Path) -> None:
    """To be called before long work whose result goes there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be a folder for pictures: {error.strerror}. Give another --plots."
        ) from error


def _plot_sizes(web: Web, _found: Description, axes: Any) -> None:
    for kind in Kind:
        sizes = sorted((site.size for site in web.sites if site.kind is kind), reverse=True)
        axes.loglog(range(1, len(sizes) + 1), sizes, ".-", label=kind.name.lower(), markersize=3)
    axes.set(title="Pages per site", xlabel="rank of the site within its kind", ylabel="pages")
    axes.legend()


def _plot_degrees(_web: Web, found: Description, axes: Any) -> None:
    for label, degrees in (
        ("content links on a page", found.links),
        ("links to a page, within the sample", found.in_links),
    ):
        ordered = sorted(degrees, reverse=True)
        axes.loglog(ordered, [(rank + 1) / len(ordered) for rank in range(len(ordered))], ".", label=label)
    axes.set(title="Degrees", xlabel="links", ylabel="share of pages with at least as many")
    axes.legend()


def _plot_mixing(web: Web, found: Description, axes: Any) -> None:
    names = [*web.topic_names, "none"]
    image = axes.imshow(found.mixing, cmap="viridis")
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set(
        title="Where links lead, by the topic of their page", xlabel="topic of the target", ylabel="topic of the page"
    )
    axes.figure.colorbar(image, label="share of content links")


def _sample(web: Web, rng: Random) -> list[Page]:
    """Pages drawn evenly over all pages."""
    sizes = [site.size for site in web.sites]
    count = min(SAMPLE_PAGES, web.params.pages)
    return [web.page(site, rng.randrange(site.size)) for site in rng.choices(web.sites, sizes, k=count)]


def _kind(web: Web, kind: Kind) -> tuple[int, int]:
    sizes = [site.size for site in web.sites if site.kind is kind]
    return len(sizes), sum(sizes)


def _topics(web: Web, sample: list[Page]) -> dict[str, tuple[float, int]]:
    found = {}
    for number, name in enumerate(web.topic_names):
        part = _share(web.truth(page) == number for page in sample)
        sites = sum(number in site.topics and site.kind not in (Kind.DIRECTORY, Kind.FARM) for site in web.sites)
        found[name] = (part, sites)
    return found


def _blind_pages(web: Web) -> int:
    return min(BLIND_PAGES, -(-web.params.pages // 10))


def _blind(web: Web) -> dict[str, tuple[float, float]]:
    pages = _blind_pages(web)
    topics = [topic for topic in FAMILIES["report"]["topics"] if web.seeds(topic)]
    return {
        topic: (blind_harvest(web, topic, pages), blind_harvest(web, topic, pages, in_order=True)) for topic in topics
    }


def blind_harvest(web: Web, topic: str, pages: int, seed: int = 1, in_order: bool = False) -> float:
    """The harvest of a crawler that takes any waiting link, or the oldest; on the model itself, without HTTP.

    As the crawler does by its default, it takes no more than so many pages of one host.
    """
    rng = Random(seed)
    wanted = web.topic_names.index(topic)
    waiting = web.seeds(topic)[:1]
    seen, per_host = set(waiting), Counter[str]()
    fetched = relevant = first = 0
    while fetched < pages and first < len(waiting):
        at = first if in_order else rng.randrange(first, len(waiting))
        waiting[at], waiting[first] = waiting[first], waiting[at]
        host, path = split(waiting[first])
        first += 1
        if per_host[host] >= MOST_PER_HOST:
            continue
        per_host[host] += 1
        fetched += 1
        page = resolve(web, host, path)[1]
        if page is None or web.is_broken(page):
            continue
        relevant += web.truth(page) == wanted
        new = dict.fromkeys(link.url for link in links_of(web, page) if link.url not in seen)
        seen.update(new)
        waiting += new
    return relevant / fetched if fetched else 0.0


def _share(truths: Iterable[bool]) -> float:
    listed = list(truths)
    return sum(listed) / len(listed)
