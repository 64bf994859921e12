"""Pictures of what `focused` found: learning curves, pages against sites, and how frontiers grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tres_crawler.experiments.cells import CURVE_EVERY
from tres_crawler.experiments.oracles import ORACLE, TOPIC_ORACLE
from tres_crawler.experiments.pictures import pyplot, save
from tres_crawler.experiments.report import Report

COLOURS = {
    "tres": "#d62728",
    "tres-paper": "#ff7f0e",
    "tres-async": "#9467bd",
    "ache": "#1f77b4",
    "best-first": "#2ca02c",
    "anchor-first": "#98df8a",
    "async": "#8c564b",
    "tree-random": "#e377c2",
    "breadth-first": "#7f7f7f",
    "random": "#c7c7c7",
    "sync": "#17becf",
    ORACLE: "#000000",
    TOPIC_ORACLE: "#555555",
}
"""A policy has the same colour in every picture."""
MAIN = "tres"

Panels = Sequence[Any]


def plot(report: Report, folder: Path) -> list[Path]:
    """A picture for everything in the report that can be drawn."""
    wanted = [name for name in DRAWN if report.settings.get(name)]
    if not wanted:
        return []
    plots = pyplot()
    paths = []
    for name in wanted:
        draw, count = DRAWN[name]
        drawn = report.settings[name]
        panels = count(drawn)
        size = (9 if panels == 1 else 6 * panels, 6)
        figure, axes = plots.subplots(1, panels, figsize=size, layout="constrained", squeeze=False)
        draw(drawn, axes[0])
        if of := report.settings.get(f"{name}_of"):
            figure.suptitle(of)
        paths.append(save(figure, folder / f"focused-{report.settings['part']}-{name}.png"))
        plots.close(figure)
    return paths


def _line(panel: Any, x: Sequence[float], y: Sequence[float], name: str, marker: str | None = None) -> None:
    # A line of one point would not be seen.
    shown = marker or ("o" if len(x) == 1 else None)
    panel.plot(x, y, label=name, color=COLOURS.get(name), linewidth=2.5 if name == MAIN else 1.4, marker=shown)


def _curves(curves: Mapping[str, list[float]], panels: Panels) -> None:
    for name, points in curves.items():
        _line(panels[0], [CURVE_EVERY * (at + 1) for at in range(len(points))], points, name)
    panels[0].set(xlabel="pages", ylabel="share of relevant pages", ylim=(0, 1.01))
    panels[0].figure.legend(loc="outside right upper", fontsize=8)


def _variants(groups: Mapping[str, Mapping[str, list[float]]], panels: Panels) -> None:
    for (group, curves), panel in zip(groups.items(), panels, strict=True):
        panel.set_prop_cycle(color=[colour for policy, colour in COLOURS.items() if policy != MAIN])
        for name, points in curves.items():
            _line(panel, [CURVE_EVERY * (at + 1) for at in range(len(points))], points, name)
        panel.set(title=group, xlabel="pages", ylabel="share of relevant pages", ylim=(0, 1.01))
        panel.legend(fontsize=8)


def _front(points: Mapping[str, list[tuple[float, int]]], panels: Panels) -> None:
    for name, found in points.items():
        panels[0].scatter([harvest for harvest, _ in found], [sites for _, sites in found], label=name)
    panels[0].set(title="Pages against sites, no cap", xlabel="true harvest", ylabel="relevant sites")
    panels[0].legend()


def _pareto(topics: Mapping[str, Mapping[str, list[tuple[str, float, float]]]], panels: Panels) -> None:
    """As Figure 3 of TRES: a line a policy, a point a cap, from the widest to the narrowest; best is top right."""
    for topic, panel in zip(topics, panels, strict=True):
        for name, points in topics[topic].items():
            _line(panel, [at for _, at, _ in points], [sites for _, _, sites in points], name, marker="o")
            # Lines run alike, so one has the names for all.
            for cap, harvest, sites in points if name == MAIN else ():
                panel.annotate(cap, (harvest, sites), fontsize=8, textcoords="offset points", xytext=(5, 5))
        panel.set(title=topic, xlabel="true harvest", ylabel="relevant sites")
    legend = panels[0].get_legend_handles_labels()
    panels[0].figure.legend(*legend, loc="outside lower center", ncols=5, fontsize=8)


def _growth(grown: Mapping[str, list[tuple[int, int, int]]], panels: Panels) -> None:
    """As Figure 4 of TRES: leaves, and links that wait."""
    for name, points in grown.items():
        for at, panel in enumerate(panels, 1):
            _line(panel, [point[0] for point in points], [point[at] for point in points], name)
    for title, panel in zip(("Leaves of the tree", "Waiting links"), panels, strict=True):
        panel.set(title=title, xlabel="pages")
    panels[0].legend()


DRAWN: Mapping[str, tuple[Callable[[Any, Panels], None], Callable[[Any], int]]] = {
    "curves": (_curves, lambda _: 1),
    "variants": (_variants, len),
    "points": (_front, lambda _: 1),
    "pareto": (_pareto, len),
    "growth": (_growth, lambda _: 2),
}
"""Key of the report's settings, how it is drawn, and in how many panels."""
