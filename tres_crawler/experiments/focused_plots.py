"""Pictures of what `focused` found: learning curves, pages against sites, and how frontiers grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tres_crawler.experiments.cells import CURVE_EVERY
from tres_crawler.experiments.pictures import pyplot, save
from tres_crawler.experiments.report import Report


def plot(report: Report, folder: Path) -> list[Path]:
    """A picture for everything in the report that can be drawn."""
    wanted = [name for name in DRAWN if report.settings.get(name)]
    if not wanted:
        return []
    plots = pyplot()
    # The matrix has more rows than the ten colours that are usual.
    colours = plots.matplotlib.cycler(color=plots.matplotlib.color_sequences["tab20"])
    paths = []
    for name in wanted:
        draw, panels = DRAWN[name]
        with plots.rc_context({"axes.prop_cycle": colours}):
            figure, axes = plots.subplots(
                1, panels, figsize=(9 if panels == 1 else 6 * panels, 6), layout="constrained"
            )
            draw(report.settings[name], axes)
        if of := report.settings.get(f"{name}_of"):
            figure.suptitle(of)
        paths.append(save(figure, folder / f"focused-{report.settings['part']}-{name}.png"))
        plots.close(figure)
    return paths


def _curves(curves: Mapping[str, list[float]], axes: Any) -> None:
    for name, points in curves.items():
        axes.plot([CURVE_EVERY * (at + 1) for at in range(len(points))], points, label=name)
    axes.set(title="True harvest over the last 200 pages", xlabel="pages", ylabel="share that is relevant", ylim=(0, 1))
    axes.figure.legend(loc="outside right upper", fontsize=8)


def _front(points: Mapping[str, list[tuple[float, int]]], axes: Any) -> None:
    for name, found in points.items():
        axes.scatter([harvest for harvest, _ in found], [sites for _, sites in found], label=name)
    axes.set(title="Pages against sites, no cap", xlabel="true harvest", ylabel="relevant sites")
    axes.legend()


def _pareto(topics: Mapping[str, Mapping[str, list[tuple[str, float, float]]]], axes: Any) -> None:
    """As Figure 3 of TRES: a line a policy, a point a cap; the best are at the top right."""
    for topic, panel in zip(topics, axes, strict=False):
        for name, points in topics[topic].items():
            ordered = sorted(points, key=lambda point: point[1])
            panel.plot([at for _, at, _ in ordered], [sites for _, _, sites in ordered], marker="o", label=name)
            for cap, harvest, sites in ordered:
                panel.annotate(cap, (harvest, sites), fontsize=7, textcoords="offset points", xytext=(3, 3))
        panel.set(title=topic, xlabel="true harvest", ylabel="relevant sites")
    axes[0].figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)


def _growth(grown: Mapping[str, list[tuple[int, int, int]]], axes: Any) -> None:
    """As Figure 4 of TRES: leaves, and links that wait."""
    for name, points in grown.items():
        for at, panel in enumerate(axes, 1):
            panel.plot([point[0] for point in points], [point[at] for point in points], label=name)
    for title, panel in zip(("Leaves of the tree", "Waiting links"), axes, strict=True):
        panel.set(title=title, xlabel="pages")
    axes[0].legend()


DRAWN: Mapping[str, tuple[Callable[[Any, Any], None], int]] = {
    "curves": (_curves, 1),
    "variants": (_curves, 1),
    "points": (_front, 1),
    "pareto": (_pareto, 3),
    "growth": (_growth, 2),
}
"""Key of the report's settings, how it is drawn, and in how many panels."""
