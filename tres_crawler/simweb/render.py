"""A page of the simulated web as HTML."""

from __future__ import annotations

from html import escape
from random import Random

from tres_crawler.simweb.chance import mix, pick
from tres_crawler.simweb.model import NO_TOPIC, Kind, Page, Web

MOST_PARAGRAPHS = 30


def render(web: Web, page: Page) -> bytes:
    """The bytes a browser gets."""
    site = web.sites[page.site]
    title = escape(web.title(page))
    name = escape(web.site_name(site))
    links = list(web.links(page))
    navigation = "".join(_anchor(link.url, link.anchor) for link in links if link.navigation)
    content = [_anchor(link.url, link.anchor) for link in links if not link.navigation]
    paragraphs = list(_paragraphs(web, page))
    parts = [
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} - {name}</title>'
        f'<meta name="description" content="{escape(paragraphs[0][:150])}"></head><body>'
        f"<header><p>{name}</p><nav>{navigation}</nav></header><main><h1>{title}</h1>"
    ]
    each = -(-len(content) // (len(paragraphs) + 1))
    for at, paragraph in enumerate(paragraphs):
        inline = " ".join(content[at * each : (at + 1) * each])
        parts.append(f"<p>{escape(paragraph, quote=False)} {inline}</p>")
    parts.append(f"<ul>{''.join(f'<li>{link}</li>' for link in content[len(paragraphs) * each :])}</ul></main>")
    footer = pick(web.prose.common["footer"], site.number).fill(site.number)
    parts.append(f"<footer><p>{escape(footer)}</p></footer></body></html>")
    return "\n".join(parts).encode()


def _paragraphs(web: Web, page: Page) -> list[str]:
    """Own topic mixed with background; the number of paragraphs is heavy-tailed."""
    rng = Random(mix(page.bits, Kind.TEXT))
    count = min(1 + int(rng.paretovariate(1.5) * 2), MOST_PARAGRAPHS)
    return [_paragraph(web, page, rng) for _ in range(count)]


def _paragraph(web: Web, page: Page, rng: Random) -> str:
    if page.topic == NO_TOPIC or rng.random() < 0.12:
        return pick(web.prose.common["background"], rng.getrandbits(32)).fill(page.bits)
    facets = web.prose.topics[page.topic].facets
    facet = facets[page.facet] if rng.random() < 0.75 else rng.choice(facets)
    text = rng.choice(facet.paragraphs).fill(rng.getrandbits(32))
    if rng.random() < 0.5:
        text += " " + rng.choice(facet.sentences).fill(rng.getrandbits(32))
    return text


def _anchor(url: str, anchor: str) -> str:
    inner = escape(anchor, quote=False) or '<img src="/pic.png" alt="">'
    return f'<a href="{escape(url)}">{inner}</a>'
