"""Model cards: the JSON file beside a shipped model that says what it is, where it is from and what it must hash to."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tres_crawler.errors import ModelError


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checked(path: Path) -> dict[str, Any]:
    """The card of a model file; a file that is missing or is not the one its card describes is refused."""
    card_path = path.with_suffix(".json")
    try:
        card: dict[str, Any] = json.loads(card_path.read_text(encoding="utf-8"))
        found = sha256_of(path)
    except OSError as error:
        raise ModelError(f"The model {path.name} cannot be read: {error}. Install the package again.") from error
    except ValueError as error:
        raise ModelError(f"The card {card_path.name} is not valid JSON: {error}. Install the package again.") from error
    if found != card.get("sha256"):
        raise ModelError(
            f"The model {path.name} is not the one its card {card_path.name} describes (sha256 {found[:12]}… in place "
            f"of {str(card.get('sha256'))[:12]}…). Install the package again, or make a new card for it."
        )
    return card
