"""The attributes of a tag, and lists of tag names."""

from __future__ import annotations

import re

_ATTRIBUTE = re.compile(
    r"""(?<![^\s"'/])([a-z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>][^\s>]*)))?""", re.IGNORECASE
)


def attributes(rest: str) -> dict[str, str]:
    """By name, the first of each, as browsers take them."""
    values: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(rest):
        values.setdefault(name.lower(), double or single or bare)
    return values


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNREADABLE = names("script style noscript template iframe svg select textarea object noembed noframes xmp")
INLINE = names(
    "a abbr b bdi bdo big cite code data em font i img ins kbd label mark q s samp small span strong sub sup time "
    "tt u var wbr"
)
