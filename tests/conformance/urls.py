"""Our URLs against the cases of the WHATWG standard: `python -m tests.conformance.urls wpt-urltestdata.json`.

Only cases of http and https count. What the standard expects is changed by the differences that docs/urls.md names,
each written down here once more in plain steps, so that the code under test does not judge itself.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import ada_url

from tres_crawler.urls import canonical

Case = dict[str, Any]
SCHEMES = ("http:", "https:")
UNRESERVED = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"


@dataclass
class Counts:
    """How the cases went; every case is passed, an intended difference or a failure."""

    cases: int = 0
    parsed: int = 0
    """Cases that the library reads and joins exactly as the standard says, before our form."""
    passed: int = 0
    intended: Counter[tuple[str, ...]] = field(default_factory=Counter)
    failures: list[Case] = field(default_factory=list)


def measure(entries: Iterable[Any]) -> Counts:
    counts = Counts()
    for case in entries:
        if isinstance(case, dict) and is_web(case):
            count(case, counts)
    return counts


def is_web(case: Case) -> bool:
    """Whether a URL of http or https comes out, or, where none does, one was begun."""
    if "failure" not in case:
        return case["protocol"] in SCHEMES
    begun = case["input"].strip().lower().startswith(SCHEMES)
    return begun or (case.get("base") or "").lower().startswith(SCHEMES)


def count(case: Case, counts: Counts) -> None:
    counts.cases += 1
    base = case.get("base")
    counts.parsed += read(case["input"], base) == case.get("href")
    ours = canonical(case["input"], base)
    form, reasons = expected(case)
    if ours != form:
        counts.failures.append(case)
    elif reasons:
        counts.intended[reasons] += 1
    else:
        counts.passed += 1


def read(url: str, base: str | None) -> str | None:
    try:
        return ada_url.join_url(base, url) if base else ada_url.normalize_url(url)
    except ValueError:
        return None


def expected(case: Case) -> tuple[str | None, tuple[str, ...]]:
    """The form that we promise for a case, and by which intended differences it departs from the standard's."""
    if "failure" in case:
        return None, ()
    host, port = case["hostname"], case.get("port", "")
    path, search = escapes_settled(case["pathname"]), escapes_settled(case["search"])
    single_dot = host.endswith(".") and not host.endswith("..") and host != "."
    form = f"{case['protocol']}//{host[:-1] if single_dot else host}{':' + port if port else ''}{path}{search}"
    fragment_at = case["href"].find("#")
    empty_query = not search and "?" in (case["href"] if fragment_at < 0 else case["href"][:fragment_at])
    differences = {
        "fragment": fragment_at >= 0,
        "empty query": empty_query,
        "user and password": bool(case["username"] or case["password"]),
        "escapes": (path, search) != (case["pathname"], case["search"]),
        "final dot of the host": single_dot,
    }
    return form, tuple(name for name, differs in differences.items() if differs)


def escapes_settled(text: str) -> str:
    """Piece by piece from the left; behind a stray percent sign an escape stays as it is."""
    settled = []
    at, stray = 0, -3
    while at < len(text):
        escape = text[at : at + 3]
        if text[at] == "%" and len(unquote_to_bytes(escape)) == 1 and len(escape) == 3:
            byte = unquote_to_bytes(escape)
            settled.append(escape if at - stray <= 2 else byte.decode() if byte in UNRESERVED else escape.upper())
            at += 3
            continue
        stray = at if text[at] == "%" else stray
        settled.append(text[at])
        at += 1
    return "".join(settled)


def main() -> None:
    counts = measure(json.loads(Path(sys.argv[1]).read_text()))
    print(f"http and https cases      {counts.cases}")
    print(f"read and joined as told   {counts.parsed}")
    print(f"canonical form: passed    {counts.passed}")
    print(f"intended differences      {counts.intended.total()}")
    for reasons, number in counts.intended.most_common():
        print(f"    {number:>4}  {', '.join(reasons)}")
    print(f"failures                  {len(counts.failures)}")
    for case in counts.failures:
        print(f"    {case['input']!r} from {case.get('base')!r}: {canonical(case['input'], case.get('base'))!r}")
        print(f"        expected {expected(case)[0]!r}")


if __name__ == "__main__":
    main()
