"""Pictures of what a benchmark found, drawn with matplotlib where it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tres_crawler.errors import ConfigError

Points = Sequence[float]


@dataclass(frozen=True)
class Picture:
    """Lines, dots or bars under one title."""

    name: str
    title: str
    xlabel: str
    ylabel: str
    lines: Mapping[str, tuple[Points, Points]] = field(default_factory=dict)
    """A label, and what lies where."""
    dots: Mapping[str, tuple[Points, Points]] = field(default_factory=dict)
    bands: Mapping[str, tuple[Points, Points, Points]] = field(default_factory=dict)
    """Where, from and to: around the line of the same label."""
    bars: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """A label of each colour, and its bar in each group."""
    is_logarithmic: bool = False
    """Whether both axes are."""


def write(pictures: Sequence[Picture], folder: Path) -> list[Path]:
    """One PNG for each picture."""
    plots = pyplot()
    paths = []
    for picture in pictures:
        figure, axes = plots.subplots(figsize=(9, 5.5), layout="constrained")
        _draw(picture, axes)
        paths.append(save(figure, folder / f"{picture.name}.png"))
        plots.close(figure)
    return paths


def pyplot() -> Any:
    """That of matplotlib, drawing to files; a ConfigError if it is not installed."""
    try:
        import matplotlib
    except ImportError as error:
        raise ConfigError("Pictures need matplotlib: pip install 'tres-crawler[plots]'.") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure: Any, path: Path) -> Path:
    try:
        figure.savefig(path, dpi=110)
    except OSError as error:
        raise ConfigError(f"The pictures cannot be written to {path.parent}: {error.strerror}.") from error
    return path


def _draw(picture: Picture, axes: Any) -> None:
    for label, (x, y) in picture.lines.items():
        (line,) = axes.plot(x, y, label=label, linewidth=1.3)
        if label in picture.bands:
            axes.fill_between(*picture.bands[label], color=line.get_color(), alpha=0.2)
    for label, (x, y) in picture.dots.items():
        axes.scatter(x, y, label=label, s=12, color="black")
    groups = list(dict.fromkeys(group for bars in picture.bars.values() for group in bars))
    width = 0.8 / max(1, len(picture.bars))
    for at, (label, bars) in enumerate(picture.bars.items()):
        axes.bar([groups.index(group) + at * width for group in bars], list(bars.values()), width, label=label)
    if groups:
        axes.set_xticks([place + 0.4 - width / 2 for place in range(len(groups))], groups)
    axes.set(title=picture.title, xlabel=picture.xlabel, ylabel=picture.ylabel)
    if picture.is_logarithmic:
        axes.set(xscale="log", yscale="log")
    axes.legend()
