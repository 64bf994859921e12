"""Files and values that people write → what is wrong with them, in sentences that say what to do."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError


def read_toml(path: Path, error_class: type[Exception]) -> dict[str, Any]:
    """The tables of a TOML file; trouble is told with file, line and what to do."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise error_class(f"There is no file {path}. Check the path.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise error_class(f"{path} cannot be read: {error}. It must be a UTF-8 text file.") from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise error_class(f"{path} is not valid TOML: {error}. Texts need quotes, lists need brackets.") from error


def nearest(name: str, valid: Iterable[str]) -> str:
    """` Did you mean "x"?`, or the whole choice where nothing is near."""
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=1)
    return f' Did you mean "{close[0]}"?' if close else f" Allowed: {', '.join(names)}."


def explain(error: ValidationError, model: type[BaseModel], section: str = "") -> str:
    """A validation error as sentences that name the dotted key and the nearest valid one."""
    told = []
    for item in error.errors():
        at = [str(part) for part in item["loc"]]
        dotted = ".".join([section, *at] if section else at)
        if item["type"] == "extra_forbidden":
            told.append(f'Unknown key "{dotted}".{nearest(at[-1], fields_at(model, at[:-1]))}')
        elif not at:
            told.append(f"{item['msg'].removeprefix('Value error, ')}.")
        else:
            told.append(f'"{dotted}" is {item["input"]!r}: {item["msg"].removeprefix("Value error, ")}.')
    return " ".join(told)


def fields_at(model: type[BaseModel], path: list[str]) -> Iterable[str]:
    """Names of the fields of a section inside a model."""
    for part in path:
        model = type(model.model_fields[part].default)
    return model.model_fields
