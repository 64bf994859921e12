"""A page of the simulated web as HTML: template, navigation, text, links, what is new, advertisements, footer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from html import escape
from random import Random

from tres_crawler.simweb.chance import mix, pick, share
from tres_crawler.simweb.change import Item, newest
from tres_crawler.simweb.links import SimLink, links_of
from tres_crawler.simweb.model import Form, Page, Web
from tres_crawler.simweb.sites import NO_TOPIC, Draw, Kind, Site

MOST_PARAGRAPHS = 25
TAIL = 1.5
EPOCH = 1_767_225_600.0
"""Web time 0: the first of January 2026, in Unix seconds."""
COLOURS = ("#14532d", "#1e3a8a", "#7f1d1d", "#4a044e", "#78350f", "#134e4a", "#0f172a", "#3f3f46")
FONTS = ("Georgia, serif", "Verdana, sans-serif", "system-ui, sans-serif", "'Trebuchet MS', sans-serif")


def render(web: Web, page: Page, hours: float = 0.0, print_version: bool = False) -> str:
    """The page as it stands at a time of the web."""
    site = web.sites[page.site]
    shown = _shown(web, page)
    title, name = escape(web.title(shown)), escape(web.site_name(site))
    links = links_of(web, page)
    paragraphs = _paragraphs(web, shown, page)
    language = "en" if page.form is not Form.FOREIGN else "und"
    head = (
        f'<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>{title} | {name}</title>'
        f'<meta name="description" content="{escape(paragraphs[0][:155])}">'
        f'<meta name="viewport" content="width=device-width"><style>{_style(site)}</style>'
    )
    if print_version:
        original = f'<link rel="canonical" href="{escape(web.url(page))}">'
        return f"{head}{original}</head><body>{_article(title, paragraphs, [])}</body></html>"
    parts = [
        f"{head}</head><body><header><strong>{name}</strong>{_navigation(links)}</header><main>",
        _article(title, paragraphs, [link for link in links if not link.navigation]),
        _latest(web, shown, newest(web, page, hours)),
        _comments(web, site, page),
        f"</main>{_aside(web, site, page)}",
        f"<footer>{escape(pick(web.prose.common['footer'], site.bits).fill(site.bits))}{_cookies(web, site)}</footer>",
        "</body></html>",
    ]
    return "\n".join(parts)


def _shown(web: Web, page: Page) -> Page:
    """The page whose words are shown: a copy shows its original's."""
    if page.form in (Form.COPY, Form.NEAR_COPY):
        return web.original(web.sites[page.site], page.bits)
    return page


def _style(site: Site) -> str:
    colour, font = pick(COLOURS, site.bits, 40), pick(FONTS, site.bits, 41)
    return (
        f"body{{font:16px/1.6 {font};max-width:{44 + site.bits % 20}em;margin:auto;padding:1em;color:#222}}"
        f"header,footer{{background:{colour};color:#fff;padding:.6em 1em}}header a{{color:#fff;margin-left:1em}}"
        f"h1,h2{{color:{colour}}}aside{{background:#f4f4f5;padding:.6em 1em;margin:1em 0;font-size:.9em}}"
    )


def _navigation(links: Sequence[SimLink]) -> str:
    return f"<nav>{''.join(_anchor(link) for link in links if link.navigation)}</nav>"


def _anchor(link: SimLink) -> str:
    inner = escape(link.anchor, quote=False) or f'<img src="/img/{len(link.url)}.png" alt="{escape(link.image)}">'
    return f'<a href="{escape(link.url)}">{inner}</a>'


def _article(title: str, paragraphs: Sequence[str], links: Sequence[SimLink]) -> str:
    """Some links stand in the text, the others in a list below it."""
    inline, listed = links[: 2 * len(paragraphs)], links[2 * len(paragraphs) :]
    parts = [f"<article><h1>{title}</h1>"]
    for at, paragraph in enumerate(paragraphs):
        if paragraph.startswith("## "):
            parts.append(f"<h2>{escape(paragraph[3:], quote=False)}</h2>")
            continue
        anchors = " ".join(_anchor(link) for link in inline[2 * at : 2 * at + 2])
        parts.append(f"<p>{escape(paragraph, quote=False)} {anchors}</p>")
    if listed:
        parts.append(f"<ul>{''.join(f'<li>{_anchor(link)}</li>' for link in listed)}</ul>")
    parts.append("</article>")
    return "\n".join(parts)


def _paragraphs(web: Web, page: Page, copy: Page) -> list[str]:
    """The words of a page; a near copy has a sentence of its own in place of one of the original's."""
    rng = Random(mix(page.bits, Draw.TEXT))
    texts = _texts(web, page, rng)
    if copy.form is Form.NEAR_COPY:
        changed = mix(copy.bits, Draw.TEXT) % len(texts)
        texts[changed] = f"{texts[changed].rpartition('. ')[0]}. {pick(web.prose.common['comment'], copy.bits).fill(0)}"
    return texts


def _texts(web: Web, page: Page, rng: Random) -> list[str]:
    match page.form:
        case Form.PARKED:
            return [rng.choice(web.prose.common["parked"]).fill(page.bits) for _ in range(3)]
        case Form.THIN:
            return [rng.choice(web.prose.common["comment"]).fill(page.bits)]
        case Form.FOREIGN:
            return [rng.choice(web.foreign(page)[1]) for _ in range(2 + rng.randrange(3))]
        case Form.LISTING | Form.GATE:
            return [rng.choice(web.prose.common["background"]).fill(page.bits)]
        case Form.STUFFED:
            facets = web.prose.topics[page.subject].facets
            stuffing = [rng.choice(rng.choice(facets).anchors).fill(rng.getrandbits(32)) for _ in range(50)]
            return [", ".join(stuffing[:25]), ", ".join(stuffing[25:])]
    count = min(1 + int(rng.paretovariate(TAIL) * 1.8), MOST_PARAGRAPHS)
    texts = [_paragraph(web, page, rng) for _ in range(count)]
    if count > 3 and page.subject != NO_TOPIC:
        headings = web.prose.topics[page.subject].headings
        for at in range(2, count, 3):
            texts.insert(at, f"## {rng.choice(headings).fill(rng.getrandbits(32))}")
    return texts


def _paragraph(web: Web, page: Page, rng: Random) -> str:
    """Mostly of the page's own facet: a whole paragraph, sentences of several put together, or filled-in ones."""
    draw = rng.random()
    if page.subject == NO_TOPIC or draw < 0.12:
        return rng.choice(web.prose.common["background"]).fill(rng.getrandbits(32))
    subject = page.subject if draw < 0.92 else rng.randrange(len(web.topic_names))
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
    return f"<section><h2>Latest</h2><ul>{rows}</ul></section>"


def item_text(web: Web, page: Page, item: Item) -> str:
    """What a new item says: a sentence on the page's subject."""
    if page.subject == NO_TOPIC:
        return pick(web.prose.common["comment"], item.bits).fill(item.bits)
    facet = web.prose.topics[page.subject].facets[page.facet]
    return pick(facet.sentences, item.bits).fill(item.bits)


def _date(hours: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(EPOCH + hours * 3600))


def _comments(web: Web, site: Site, page: Page) -> str:
    if site.kind not in (Kind.FORUM, Kind.BLOG) or page.number == 0:
        return ""
    said = [pick(web.prose.common["comment"], page.bits, 50 + at).fill(page.bits) for at in range(page.bits % 5)]
    return (
        "<section>" + "".join(f"<blockquote>{escape(text, quote=False)}</blockquote>" for text in said) + "</section>"
    )


def _aside(web: Web, site: Site, page: Page) -> str:
    if share(mix(site.bits, 42)) < 0.4:
        return ""
    return f"<aside>{escape(pick(web.prose.common['ad'], page.bits, 43).fill(page.bits), quote=False)}</aside>"


def _cookies(web: Web, site: Site) -> str:
    if share(mix(site.bits, 44)) < 0.7:
        return ""
    said = escape(pick(web.prose.common["cookie"], site.bits, 45).fill(0), quote=False)
    return f'<div class="cookie-banner">{said}</div>'
