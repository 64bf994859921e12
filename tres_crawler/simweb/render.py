"""A page of the simulated web as HTML: template, navigation, text, links, what is new, advertisements, footer."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from html import escape
from random import Random
from typing import NamedTuple

from tres_crawler.simweb.chance import mix, pick, share
from tres_crawler.simweb.change import Item, newest
from tres_crawler.simweb.links import SimLink, links_of
from tres_crawler.simweb.model import Form, Page, Web
from tres_crawler.simweb.sites import NO_TOPIC, Draw, Kind, Site

MOST_PARAGRAPHS = 25
TAIL = 1.5
BACKGROUND, OTHER_TOPICS = 0.16, 0.12
"""Chances that a paragraph of an on-topic page is about nothing, and about any topic."""
HEADING = "## "
EPOCH = 1_767_225_600.0
"""Web time 0: the first of January 2026, in Unix seconds."""
COLOURS = ("#14532d", "#1e3a8a", "#7f1d1d", "#4a044e", "#78350f", "#134e4a", "#0f172a", "#3f3f46")
FONTS = ("Georgia, serif", "Verdana, sans-serif", "system-ui, sans-serif", "'Trebuchet MS', sans-serif")


SWAPS = {"the": "this", "a": "one", "and": "plus", "is": "was", "in": "within", "but": "yet", "for": "towards"}
"""Words that a near copy has in place of its original's."""
WORDS_PER_SWAP = 400
WRONG_LANGUAGE = 0.2
"""Share of foreign pages that call themselves English."""
_SWAPPED = re.compile(rf"(?<= )(?:{'|'.join(SWAPS)})(?= )")


class Parts(NamedTuple):
    """What every page of a site has, whatever its skeleton."""

    name: str
    navigation: str
    content: str
    aside: str
    footer: str


def render(web: Web, page: Page, hours: float = 0.0, print_version: bool = False, visit: int = 0) -> str:
    """The page as it stands at a time of the web."""
    site, shown = web.sites[page.site], web.shown(page)
    title, name = escape(web.title(shown)), escape(web.site_name(site))
    paragraphs = paragraphs_of(web, page)
    head = (
        f'<!DOCTYPE html><html lang="{_language(web, shown)}"><head><meta charset="utf-8">'
        f'<title>{title} | {name}</title><meta name="description" content="{escape(paragraphs[0][:155])}">'
        f'<meta name="viewport" content="width=device-width"><style>{_style(site)}</style>'
    )
    if print_version:
        original = f'<link rel="canonical" href="{escape(web.url(page))}">'
        return f"{head}{original}</head><body>{_article(title, paragraphs, [])}</body></html>"
    links = links_of(web, page, visit)
    parts = Parts(
        name=name,
        navigation="\n".join(_anchor(link) for link in links if link.navigation),
        content="\n".join(
            (
                _article(title, paragraphs, [link for link in links if not link.navigation]),
                _latest(web, shown, newest(web, shown, hours)),
                _comments(web, shown),
            )
        ),
        aside=_aside(web, site, page),
        footer=escape(pick(web.prose.common["footer"], site.bits).fill(site.bits), quote=False) + _cookies(web, site),
    )
    return f"{head}</head><body>{pick(SKELETONS, site.bits, 46)(parts)}</body></html>"


def _modern(parts: Parts) -> str:
    aside = f"<aside>{parts.aside}</aside>" if parts.aside else ""
    return (
        f"<header><strong>{parts.name}</strong><nav>{parts.navigation}</nav></header>\n"
        f"<main><article>{parts.content}</article></main>\n{aside}<footer>{parts.footer}</footer>"
    )


def _divided(parts: Parts) -> str:
    aside = f'<div class="sidebar">{parts.aside}</div>' if parts.aside else ""
    return (
        f'<div class="navbar top"><b>{parts.name}</b> {parts.navigation}</div>\n'
        f'<div id="page"><div class="entry">{parts.content}</div></div>\n{aside}'
        f'<div class="site-footer">{parts.footer}</div>'
    )


def _tabular(parts: Parts) -> str:
    aside = f'<td class="sidebar" valign="top" width="120">{parts.aside}</td>' if parts.aside else ""
    return (
        f'<table width="100%" cellpadding="8"><tr><td class="menu" valign="top" width="140"><b>{parts.name}</b><br>\n'
        f'{parts.navigation}</td><td valign="top">{parts.content}</td>{aside}</tr></table>\n'
        f'<center class="footer"><small>{parts.footer}</small></center>'
    )


SKELETONS: tuple[Callable[[Parts], str], ...] = (_modern, _divided, _tabular)


def _language(web: Web, page: Page) -> str:
    if page.form is not Form.FOREIGN or share(mix(page.bits, 47)) < WRONG_LANGUAGE:
        return "en"
    return web.language(page)


def _style(site: Site) -> str:
    colour, font = pick(COLOURS, site.bits, 40), pick(FONTS, site.bits, 41)
    return (
        f"body{{font:16px/1.6 {font};max-width:{44 + site.bits % 20}em;margin:auto;padding:1em;color:#222}}"
        f"header,footer,.top,.site-footer{{background:{colour};color:#fff;padding:.6em 1em}}.menu a{{display:block}}"
        f"header a,.top a{{color:#fff;margin-left:1em}}h1,h2{{color:{colour}}}"
        f"aside,.sidebar{{background:#f4f4f5;padding:.6em 1em;margin:1em 0;font-size:.9em}}"
    )


def _anchor(link: SimLink) -> str:
    inner = escape(link.anchor, quote=False) or f'<img src="/img/{len(link.url)}.png" alt="{escape(link.image)}">'
    return f'<a href="{escape(link.url)}">{inner}</a>'


def _article(title: str, paragraphs: Sequence[str], links: Sequence[SimLink]) -> str:
    """Some links stand in the text, the others in a list below it."""
    parts = [f"<h1>{title}</h1>"]
    used = 0
    for paragraph in paragraphs:
        if paragraph.startswith(HEADING):
            parts.append(f"<h2>{escape(paragraph.removeprefix(HEADING), quote=False)}</h2>")
            continue
        anchors = " ".join(_anchor(link) for link in links[used : used + 2])
        parts.append(f"<p>{escape(paragraph, quote=False)} {anchors}</p>")
        used += 2
    if links[used:]:
        parts.append(f"<ul>{''.join(f'<li>{_anchor(link)}</li>' for link in links[used:])}</ul>")
    return "\n".join(parts)


def paragraphs_of(web: Web, page: Page) -> list[str]:
    """The words of a page, headings marked; a near copy has a few other words than its original."""
    shown = web.shown(page)
    texts = _texts(web, shown, Random(mix(shown.bits, Draw.TEXT)))
    if page.form is Form.NEAR_COPY:
        rng = Random(mix(page.bits, Draw.TEXT))
        for _ in range(1 + sum(len(text) for text in texts) // (6 * WORDS_PER_SWAP)):
            _swap_a_word(texts, rng)
    return texts


def _swap_a_word(texts: list[str], rng: Random) -> None:
    able = [
        (at, found.span())
        for at, text in enumerate(texts)
        if not text.startswith(HEADING)
        for found in _SWAPPED.finditer(text)
    ]
    if able:
        at, (start, end) = rng.choice(able)
        texts[at] = texts[at][:start] + SWAPS[texts[at][start:end]] + texts[at][end:]


def _texts(web: Web, page: Page, rng: Random) -> list[str]:
    match page.form:
        case Form.PARKED:
            return [rng.choice(web.prose.common["parked"]).fill(page.bits) for _ in range(3)]
        case Form.THIN:
            return [rng.choice(web.prose.common["comment"]).fill(page.bits)]
        case Form.FOREIGN:
            return [rng.choice(web.prose.foreign[web.language(page)][1]) for _ in range(2 + rng.randrange(3))]
        case Form.LISTING:
            return [rng.choice(web.prose.common["background"]).fill(page.bits)]
        case Form.STUFFED:
            facets = web.prose.topics[page.subject].facets
            stuffing = [rng.choice(rng.choice(facets).anchors).fill(rng.getrandbits(32)) for _ in range(50)]
            return [", ".join(stuffing[:25]), ", ".join(stuffing[25:])]
    subjects = subjects_of(web, page)
    texts = [_paragraph(web, page, subject, rng) for subject in subjects]
    headings = web.prose.neutral_titles if page.subject == NO_TOPIC else web.prose.topics[page.subject].headings
    for at in range(2, len(subjects) if len(subjects) > 3 else 0, 3):
        texts.insert(at, f"{HEADING}{rng.choice(headings).fill(rng.getrandbits(32))}")
    return texts


def subjects_of(web: Web, page: Page) -> list[int]:
    """What each paragraph of an article is about: the first, and more than half, as the page is."""
    rng = Random(mix(page.bits, Draw.TEXT, 1))
    count = min(1 + int(rng.paretovariate(TAIL) * 1.8), MOST_PARAGRAPHS)
    subjects = [page.subject]
    strays = 0
    for at in range(1, count):
        draw, other = rng.random(), rng.randrange(len(web.topic_names))
        if page.subject == NO_TOPIC or draw >= BACKGROUND + OTHER_TOPICS or 2 * (strays + 1) > at:
            subjects.append(page.subject)
            continue
        subjects.append(NO_TOPIC if draw < BACKGROUND else other)
        strays += 1
    return subjects


def _paragraph(web: Web, page: Page, subject: int, rng: Random) -> str:
    """Mostly of the page's own facet: a whole paragraph, sentences of several put together, or filled-in ones."""
    if subject == NO_TOPIC:
        return rng.choice(web.prose.common["background"]).fill(rng.getrandbits(32))
    facets = web.prose.topics[subject].facets
    facet = facets[page.facet] if subject == page.subject and rng.random() < 0.75 else rng.choice(facets)
    way = rng.random()
    if way < 0.35:
        return rng.choice(facet.paragraphs).fill(rng.getrandbits(32))
    chosen = rng.sample(facet.pieces, 2 + rng.randrange(3)) + [
        rng.choice(facet.sentences) for _ in range(1 + (way > 0.8))
    ]
    return " ".join(piece.fill(rng.getrandbits(32)) for piece in chosen)


def _latest(web: Web, page: Page, items: Sequence[Item]) -> str:
    if not items:
        return ""
    rows = "".join(
        f"<li><time>{_date(item.hours)}</time> {escape(item_text(web, page, item), quote=False)}</li>" for item in items
    )
    return f"<h3>Latest</h3><ul>{rows}</ul>"


def item_text(web: Web, page: Page, item: Item) -> str:
    """What a new item says: a sentence on the page's subject."""
    if page.subject == NO_TOPIC:
        return pick(web.prose.common["comment"], item.bits).fill(item.bits)
    facet = web.prose.topics[page.subject].facets[page.facet]
    return pick(facet.sentences, item.bits).fill(item.bits)


def _date(hours: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(EPOCH + hours * 3600))


def _comments(web: Web, page: Page) -> str:
    if web.sites[page.site].kind not in (Kind.FORUM, Kind.BLOG) or page.number == 0:
        return ""
    said = [pick(web.prose.common["comment"], page.bits, 50 + at).fill(page.bits) for at in range(page.bits % 5)]
    return "".join(f"<blockquote>{escape(text, quote=False)}</blockquote>" for text in said)


def _aside(web: Web, site: Site, page: Page) -> str:
    if share(mix(site.bits, 42)) < 0.4:
        return ""
    return escape(pick(web.prose.common["ad"], page.bits, 43).fill(page.bits), quote=False)


def _cookies(web: Web, site: Site) -> str:
    if share(mix(site.bits, 44)) < 0.7:
        return ""
    said = escape(pick(web.prose.common["cookie"], site.bits, 45).fill(0), quote=False)
    return f'<div class="cookie-banner">{said}</div>'
