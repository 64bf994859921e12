"""A report and its pictures → one page to be opened in a browser or handed on."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from tres_crawler.errors import ConfigError
from tres_crawler.experiments.report import Report, shown

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; color: #1c2128; }
div { overflow-x: auto; } img { max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
td, th { padding: 0.2rem 0.6rem; border-bottom: 1px solid #d8dee4; text-align: left; vertical-align: top; }
th { position: sticky; top: 0; background: #f6f8fa; } .number { text-align: right; }
"""


def write_page(report: Report, pictures: Iterable[Path], folder: Path) -> Path:
    """All tables and pictures of a report in one file that needs no other."""
    title = f"bench {report.bench}: {report.settings['part']}"
    told = [f"{name.replace('_', ' ')}: {value}" for name, value in report.settings.items() if _is_plain(name, value)]
    parts = [
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>',
        f"<h1>{escape(title)}</h1><p>{escape('; '.join(told))}</p>",
        *(_picture(path) for path in pictures),
        *(_table(name, rows) for name, rows in report.sections() if rows),
    ]
    path = folder / f"{report.bench}-{report.settings['part']}.html"
    try:
        path.write_text("\n".join(parts), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"The page cannot be written to {folder}: {error.strerror}.") from error
    return path


def _is_plain(name: str, value: object) -> bool:
    """Whether it can be told in a line; what a picture is of stands above it."""
    return isinstance(value, str | int | float) and not name.endswith("_of")


def _picture(path: Path) -> str:
    return f'<p><img alt="{escape(path.stem)}" src="data:image/png;base64,{b64encode(path.read_bytes()).decode()}"></p>'


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in rows[0])
    body = "\n".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in rows)
    return f"<h2>{escape(title)}</h2><div><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>"


def _cell(value: object) -> str:
    kind = ' class="number"' if isinstance(value, int | float) else ""
    return f"<td{kind}>{escape(shown(value))}</td>"
