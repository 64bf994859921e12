"""Finds the folders that travel with the package: `migrations` and `models`."""

from pathlib import Path


def shipped(folder: str) -> Path:
    """Inside the package when installed from a wheel, beside it in a checkout."""
    package = Path(__file__).parent
    inside = package / folder
    return inside if inside.is_dir() else package.parent / folder
