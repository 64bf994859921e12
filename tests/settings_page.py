"""Makes docs/settings.md: `python -m tests.settings_page > docs/settings.md`; a test keeps the two in step."""

from __future__ import annotations

from tres_crawler.config import Settings

HEAD = """# Settings

Values come from the environment (`TRES_FETCH__SLOTS=8`), then the TOML file given with `--config` (`slots = 8` under
`[fetch]`), then these defaults. Command-line options and a topic's own `[crawl]` table count more. Unknown names are
refused.

Made from `tres_crawler/config.py`: `python -m tests.settings_page > docs/settings.md`.
"""


def settings_page() -> str:
    parts = [HEAD]
    for name, section in Settings.model_fields.items():
        kind = type(section.default)
        parts.append(f"\n## {name}\n\n{kind.__doc__}\n\n| setting | default | what it does |\n| --- | --- | --- |\n")
        for field, info in kind.model_fields.items():
            default = "" if info.default in ("", None) else f"`{info.default}`".replace("True", "true")
            meaning = " ".join((info.description or "").split())
            parts.append(f"| `{name}.{field}` | {default} | {meaning} |\n")
    return "".join(parts)


if __name__ == "__main__":
    print(settings_page(), end="")
