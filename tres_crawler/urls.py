"""URLs in canonical form, their host and their site."""

from __future__ import annotations

import ipaddress
import re
import string
from dataclasses import dataclass
from functools import cached_property, lru_cache

import ada_url
import tldextract

# The first lines are analytics and advertising, the last are sessions; all leave the page as it is.
DROPPED_PARAMETERS = (
    *("utm_*", "mtm_*", "pk_*", "piwik_*", "matomo_*", "hsa_*", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp"),
    *("gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "srsltid", "_ga", "_gl"),
    *("fbclid", "fb_action_ids", "fb_action_types", "fb_ref", "fb_source", "igsh", "igshid", "msclkid", "twclid"),
    *("ttclid", "li_fat_id", "yclid", "ysclid", "_openstat", "epik", "s_kwcid", "ef_id", "irclickid", "cjevent"),
    *("mc_cid", "mc_eid", "mkt_tok", "ml_subscriber", "ml_subscriber_hash", "oly_anon_id", "oly_enc_id", "vero_id"),
    *("vero_conv", "wickedid", "rb_clickid", "wt_mc", "xtor", "spm", "guccounter", "guce_referrer*"),
    *("phpsessid", "jsessionid", "aspsessionid*", "cftoken", "oscsid", "zenid"),
)
"""Names of parameters that say who came from where, not what is shown; `*` at the end stands for any rest."""

SESSION_PARAMETERS = ("sid", "sessionid", "session_id", "sessid", "session")
"""Names that mean a session or something else (a story, a section): dropped when the value looks like an id."""


@dataclass(frozen=True)
class UrlRules:
    """What a person may want otherwise about URLs."""

    dropped: tuple[str, ...] = DROPPED_PARAMETERS
    private_suffixes: bool = False
    """Whether `a.github.io` and `b.github.io` are two sites."""
    sessions: tuple[str, ...] = SESSION_PARAMETERS

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.dropped if not name.endswith("*"))

    @cached_property
    def _beginnings(self) -> tuple[str, ...]:
        return tuple(name[:-1].lower() for name in self.dropped if name.endswith("*"))

    def drops(self, parameter: str) -> bool:
        """Whether `name=value` says nothing of the page."""
        name, _, value = parameter.partition("=")
        name = name.lower()
        if name in self._names or name.startswith(self._beginnings):
            return True
        return name in self.sessions and _ID.fullmatch(value) is not None


DEFAULT_RULES = UrlRules()

# Letters and digits: `sid=20240514` may be a story and `sid=politics` a section, and to lose a page is worse than to
# fetch one twice.
_ID = re.compile(r"(?=[a-z-]*\d)(?=[\d-]*[a-z])(?:[0-9a-z]{8,}|[0-9a-f-]{32,})", re.IGNORECASE)
_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
# Escapes of unreserved characters, and those in lower case. Not behind a stray `%`: `%%341` would turn into `%41`.
_LOOSE_ESCAPE = re.compile(
    r"%(?<!%%)(?<!%[0-9A-Fa-f]%)"
    r"(?:2[DEde]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee]|[0-9A-Fa-f][a-f]|[a-f][0-9A-F])"
)
_FINAL_DOT = re.compile(r"(?<=[^.])\.(?=:|$)")
_PATH_PARAMETER = re.compile(r";([^;/]*)")

# The suffix list bundled with tldextract: no network, no cache folder.
_extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


def canonical(url: str, base: str | None = None, rules: UrlRules = DEFAULT_RULES) -> str | None:
    """The one form under which a URL is known: read as browsers do, without what does not change the page.

    None for what cannot be parsed or is not http(s). docs/urls.md tells the form.
    """
    try:
        joined = ada_url.join_url(base, url) if base else ada_url.normalize_url(url)
    except ValueError:
        return None
    if not joined.startswith(("http://", "https://")):
        return None
    page, _, query = joined.partition("#")[0].partition("?")
    # Most links need nothing of this, and a page has dozens.
    if "%" in page or ";" in page or "@" in page or "./" in page or ".:" in page:
        page = _tidied(page, rules)
    if query:
        query = _unescaped(query) if "%" in query else query
        query = "&".join([pair for pair in query.split("&") if not rules.drops(pair)])
    return f"{page}?{query}" if query else page


def host_of(url: str) -> str:
    """Host and, where it is not the default one, port of a canonical URL."""
    rest = url.partition("//")[2]
    return rest.partition("/")[0].rpartition("@")[2]


@lru_cache(maxsize=200_000)
def site_of(host: str, private_suffixes: bool = False) -> str:
    """The registrable domain that a host (with or without port) belongs to; an IP address is its own site."""
    name = host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]
    name = name.rstrip(".") or name
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        found = _extract(name, include_psl_private_domains=private_suffixes)
        # A host may be a suffix itself. A last label that the list does not know is one: the list's prevailing rule.
        return found.top_domain_under_public_suffix or found.suffix or ".".join(name.rsplit(".", 2)[-2:])


def _tidied(page: str, rules: UrlRules) -> str:
    scheme, _, rest = page.partition("//")
    host, _, path = rest.partition("/")
    host = _FINAL_DOT.sub("", host.rpartition("@")[2])
    path = _unescaped(path)
    kept = _PATH_PARAMETER.sub(lambda found: "" if rules.drops(found[1]) else found[0], path)
    tidied = f"{scheme}//{host}/{kept}"
    # `/..;jsessionid=1` has become `/..`, which is to be resolved.
    return tidied if kept == path else ada_url.normalize_url(tidied)


def _unescaped(text: str) -> str:
    return _LOOSE_ESCAPE.sub(_settled, text)


def _settled(escape: re.Match[str]) -> str:
    character = chr(int(escape[0][1:], 16))
    return character if character in _UNRESERVED else escape[0].upper()
