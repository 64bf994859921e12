"""Pictures of what `focused` found: learning curves, and pages against sites."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tres_crawler.errors import ConfigError
from tres_crawler.experiments.cells import CURVE_EVERY
from tres_crawler.experiments.report import Report


def plot(report: Report, folder: Path) -> Path | None:
    """The picture of a part that has one."""
    draw: dict[str, Callable[[Any, Any], None]] = {"curves": _curves, "points": _front}
    wanted = next((name for name in draw if name in report.settings), None)
    if wanted is None:
        return None
    try:
        import matplotlib
    except ImportError as error:
        raise ConfigError("Pictures need matplotlib: pip install 'tres-crawler[plots]'.") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(9, 6), layout="constrained")
    draw[wanted](report.settings[wanted], axes)
    path = folder / f"focused-{report.settings['part']}.png"
    try:
        figure.savefig(path, dpi=110)
    except OSError as error:
        raise ConfigError(f"The pictures cannot be written to {folder}: {error.strerror}.") from error
    pyplot.close(figure)
    return path


def _curves(curves: dict[str, list[float]], axes: Any) -> None:
    for name, points in curves.items():
        axes.plot([CURVE_EVERY * (at + 1) for at in range(len(points))], points, label=name)
    axes.set(title="True harvest over the last 200 pages", xlabel="pages", ylabel="share that is relevant", ylim=(0, 1))
    axes.legend()


def _front(points: dict[str, list[tuple[float, int]]], axes: Any) -> None:
    for name, found in points.items():
        axes.scatter([harvest for harvest, _ in found], [sites for _, sites in found], label=name)
    axes.set(title="Pages against sites, no cap", xlabel="true harvest", ylabel="relevant sites")
    axes.legend()
