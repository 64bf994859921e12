"""URLs in canonical form, their host and their site."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

import ada_url
import tldextract

# The suffix list bundled with tldextract: no network, no cache folder.
_extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


def canonical(url: str, base: str | None = None) -> str | None:
    """The one form under which a URL is known: parsed as browsers do, no fragment, no empty query.

    None for what cannot be parsed or is not http(s).
    """
    try:
        joined = ada_url.join_url(base, url) if base else ada_url.normalize_url(url)
    except ValueError:
        return None
    joined = joined.partition("#")[0]
    page, _, query = joined.partition("?")
    joined = joined if query else page
    return joined if joined.startswith(("http://", "https://")) else None


def host_of(url: str) -> str:
    """Host and, where it is not the default one, port of a canonical URL."""
    rest = url.partition("//")[2]
    return rest.partition("/")[0].rpartition("@")[2]


@lru_cache(maxsize=200_000)
def site_of(host: str) -> str:
    """The registrable domain that a host (with or without port) belongs to; an IP address is its own site."""
    name = host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        # A last label that the list does not know is itself a suffix: the list's own prevailing rule.
        return _extract(name).top_domain_under_public_suffix or ".".join(name.rsplit(".", 2)[-2:])
