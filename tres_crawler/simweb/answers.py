"""What the simulated web answers to a request: pages, and the web's bad manners."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import formatdate
from random import Random

from tres_crawler.simweb.chance import mix, share
from tres_crawler.simweb.change import newest
from tres_crawler.simweb.model import OLD, Page, Web
from tres_crawler.simweb.render import EPOCH, render
from tres_crawler.simweb.sites import Site

HTML = "text/html; charset=utf-8"
LIMIT_SECONDS = 0.5
"""A limited site answers 429 to a request that comes sooner than this after the last."""
OLDEST_HOURS = 24.0 * 365 * 4
"""How long before the web's time 0 a page that does not change may have been written."""
FILE_BYTES = 2000
FILE_TYPES = {"pdf": "application/pdf", "zip": "application/zip", "jpg": "image/jpeg"}
_GO = re.compile(r"/go/([1-3])/(\d{1,9})")
_CALENDAR = re.compile(r"/calendar/(\d{4})/(\d{1,2})")
_FILE = re.compile(r"/files/(\d{1,9})\.(pdf|zip|jpg)")


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers and body; `wait_seconds` is how long the host takes over it."""

    status: int
    body: bytes = b""
    content_type: str = HTML
    headers: tuple[tuple[str, str], ...] = ()
    wait_seconds: float = 0.0


def answer(web: Web, host: str, path: str, hours: float = 0.0) -> Answer:
    """The answer to GET `path` of `host` at a time of the web, whoever asks and however often."""
    site = web.site_at(host)
    if site is None:
        return _other_name(web, host, path)
    if path == "/robots.txt":
        status, rules = web.robots(host)
        return Answer(status, rules.encode(), "text/plain; charset=utf-8")
    wait = 0.5 + 1.5 * site.draw(31) if site.is_slow else 0.0
    bare, _, query = path.partition("?")
    found = _GO.fullmatch(bare)
    if found and int(found[2]) < site.size:
        hops, number = int(found[1]), int(found[2])
        there = f"/go/{hops - 1}/{number}" if hops > 1 else web.path(web.page(site, number))
        return _redirect(f"{there}?{query}" if query else there, host)
    if (found := _FILE.fullmatch(bare)) and int(found[1]) < site.size:
        return Answer(200, Random(site.bits).randbytes(FILE_BYTES), FILE_TYPES[found[2]])
    if (found := _CALENDAR.fullmatch(bare)) and site.has_calendar:
        return Answer(200, _calendar(web, site, int(found[1]), int(found[2])).encode())
    page = web.find(host, path)
    if page is None:
        return Answer(404, f"<!DOCTYPE html><title>Not found</title><p>{_sorry(web, site)}</p>".encode())
    if web.is_broken(page):
        return Answer(500, f"<!DOCTYPE html><title>Error</title><p>{_sorry(web, site)}</p>".encode(), wait_seconds=wait)
    return _page(web, site, page, path, hours, wait)


def is_limited(web: Web, host: str) -> bool:
    """Whether a host counts how often it is asked."""
    site = web.site_at(host)
    return site is not None and site.is_limited


def web_date(hours: float) -> str:
    """A time of the web as HTTP writes it."""
    return formatdate(EPOCH + hours * 3600, usegmt=True)


def too_many() -> Answer:
    return Answer(429, b"<!DOCTYPE html><title>Slow down</title>", headers=(("Retry-After", "1"),))


def version(web: Web, page: Page, hours: float, is_print: bool = False) -> tuple[str, float]:
    """The ETag of a page at a time, and when it last changed (hours); a print version shows no news and stays."""
    latest = [] if is_print else newest(web, page, hours, 1)
    if latest:
        return f'"{mix(page.bits, latest[0].bits):016x}"', latest[0].hours
    return f'"{mix(page.bits, is_print):016x}"', -OLDEST_HOURS * share(mix(page.bits, 56))


def is_print(path: str) -> bool:
    return path.startswith("/print/")


def _page(web: Web, site: Site, page: Page, path: str, hours: float, wait: float) -> Answer:
    query = path.partition("?")[2]
    visit = mix(*query.encode()) if query and site.has_sessions else 0
    text = render(web, page, hours, is_print(path), visit)
    headers: tuple[tuple[str, str], ...] = ()
    if site.has_validators:
        tag, changed = version(web, page, hours, is_print(path))
        if visit:
            tag = f'"{mix(visit, *tag.encode()):016x}"'
        headers = (("ETag", tag), ("Last-Modified", web_date(changed)))
    if site.is_latin:
        # The header promises UTF-8, the page says so too, the bytes are Latin-1.
        return Answer(200, text.encode("latin-1", "replace"), HTML, headers, wait)
    return Answer(200, text.encode(), HTML, headers, wait)


def _other_name(web: Web, host: str, path: str) -> Answer:
    """A moved site's old name redirects; a name nobody has is no host at all, as near as one port can say so."""
    if host.startswith(OLD):
        name = host.removeprefix(OLD)
        site = web.site_at(name) or web.site_at(f"www.{name}")
        if site and site.has_moved:
            return Answer(404) if path == "/robots.txt" else _redirect(path, site.host, 301)
    return Answer(404, b"<!DOCTYPE html><title>No such site</title>")


def _redirect(path: str, host: str, status: int = 302) -> Answer:
    return Answer(status, headers=(("Location", f"http://{host}{path}"),))


def _calendar(web: Web, site: Site, year: int, month: int) -> str:
    after, before = (year + month // 12, month % 12 + 1), (year - (month == 1), (month - 2) % 12 + 1)
    links = "".join(f'<a href="/calendar/{y}/{m}">{m}/{y}</a> ' for y, m in (before, after))
    head = f"<!DOCTYPE html><title>Calendar {month}/{year} | {web.site_name(site)}</title>"
    return f"{head}<h1>{month}/{year}</h1><p>No events this month.</p>{links}"


def _sorry(web: Web, site: Site) -> str:
    texts = web.prose.common["error"]
    return texts[site.bits % len(texts)].fill(site.bits)
