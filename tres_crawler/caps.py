"""How many pages of one site a crawl may fetch."""

from __future__ import annotations

import re
from typing import NamedTuple


class SiteCap(NamedTuple):
    """At most `start` pages of one site, falling to `end` as the budget is spent."""

    start: int
    end: int

    def at(self, spent: float) -> int:
        """The cap when a share `spent` (0 to 1) of the page budget is used up.

        Three equal stages: start, the geometric mean, end. See docs/decisions/0003.
        """
        if spent < 1 / 3:
            return self.start
        return self.end if spent >= 2 / 3 else round((self.start * self.end) ** 0.5)


def parse_site_cap(text: str) -> SiteCap | None:
    """`"100"`, `"5:2"` or `"none"`."""
    if text == "none":
        return None
    found = re.fullmatch(r"([1-9]\d*)(?::([1-9]\d*))?", text)
    if not found or (found[2] and int(found[2]) > int(found[1])):
        raise ValueError(
            f"{text!r} is not a cap: give a number such as 100, two such as 5:2 (start, then a smaller end), or none"
        )
    return SiteCap(int(found[1]), int(found[2] or found[1]))
