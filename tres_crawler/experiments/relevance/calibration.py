"""Whether a judge's 0.8 comes true eight times in ten, before and after calibration; as figures and as a picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tres_crawler.classify.figures import calibration_error
from tres_crawler.classify.neural import NeuralModel
from tres_crawler.classify.prior import Prior
from tres_crawler.classify.training import fit, folds
from tres_crawler.config import RelevanceSettings
from tres_crawler.errors import ConfigError
from tres_crawler.experiments.relevance.data import Folder
from tres_crawler.experiments.relevance.options import Findings, Options, given_keywords, vectors
from tres_crawler.experiments.relevance.world import Truths, Worlds, truths
from tres_crawler.experiments.report import Check, Say
from tres_crawler.records import PageText
from tres_crawler.simweb.describe import make_folder
from tres_crawler.vectors import Floats

BINS = 10


class Said(NamedTuple):
    """What a judge said of pages it had not seen, and what was so."""

    before: Floats
    after: Floats
    relevant: Truths


def calibration(options: Options, worlds: Worlds, folder: Folder | None, say: Say) -> Findings:
    if options.plots:
        make_folder(options.plots)
    rows: list[dict[str, object]] = []
    checks: list[Check] = []
    for topic in options.topics:
        found = {"simulated web": _on_web(topic, worlds)}
        if folder:
            found["labelled text"] = _on_text(topic, folder, options.sizes.relevant)
        for where, said in found.items():
            before, after = (calibration_error(given, said.relevant) for given in (said.before, said.after))
            rows.append(
                {
                    "part": "calibration",
                    "topic": topic,
                    "on": where,
                    "pages": len(said.relevant),
                    "prevalence": round(float(said.relevant.mean()), 4),
                    "error_before": round(before, 4),
                    "error_after": round(after, 4),
                }
            )
            checks.append(Check.at_most(f"{topic}, {where}: error after less before", round(after - before, 4), 0))
            say(f"{topic}, {where}: calibration error {before:.3f}, then {after:.3f}")
        if options.plots:
            say(f"Picture: {_plot(topic, found, options.plots)}")
    return Findings(rows, checks)


def _on_web(topic: str, worlds: Worlds) -> Said:
    world, kind = worlds[0], RelevanceSettings().model
    assert kind in ("bilstm", "kwbilstm")
    model = world.labelled(topic, world.sizes.labels[-1], kind)
    return _said(model, [seen.page for seen in world.tested], truths(world.tested, topic))


def _on_text(topic: str, folder: Folder, relevant: int) -> Said:
    """One fold, books and lists kept whole."""
    examples, kind = folder.examples(topic, relevant), RelevanceSettings().model
    assert kind in ("bilstm", "kwbilstm")
    learned, tested = folds(examples, 0)[0]
    model = fit(kind, [examples[at] for at in learned], Prior(vectors(), given_keywords(topic))).model
    assert isinstance(model, NeuralModel)
    return _said(
        model, [examples[at].page for at in tested], np.array([examples[at].relevant for at in tested], dtype=bool)
    )


def _said(model: NeuralModel, pages: list[PageText], relevant: Truths) -> Said:
    after, known = model.pages(pages), model.calibration
    model.calibration = replace(known, temperature=1.0, offset=0.0)
    before = model.pages(pages)
    model.calibration = known
    return Said(before, after, relevant)


def _plot(topic: str, found: dict[str, Said], folder: Path) -> Path:
    """Reliability: what was said against what was so, with the share of pages in each bin as the dot's size."""
    try:
        import matplotlib
    except ImportError as error:
        raise ConfigError("Pictures need matplotlib: pip install 'tres-crawler[plots]'.") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(found), figsize=(6 * len(found), 5.5), layout="constrained", squeeze=False)
    for axes, (where, said) in zip(panels[0], found.items(), strict=True):
        axes.plot([0, 1], [0, 1], color="grey", linewidth=1)
        for name, given in (("before", said.before), ("after", said.after)):
            inside = np.minimum((given * BINS).astype(int), BINS - 1)
            full = sorted(set(inside.tolist()))
            spoken = [float(given[inside == at].mean()) for at in full]
            true = [float(said.relevant[inside == at].mean()) for at in full]
            off = calibration_error(given, said.relevant)
            line = axes.plot(spoken, true, label=f"{name} calibration, error {off:.3f}")[0]
            sizes = [20 + 300 * float((inside == at).mean()) for at in full]
            axes.scatter(spoken, true, s=sizes, color=line.get_color(), alpha=0.6)
        axes.set(title=f"{topic}, {where}", xlabel="probability said", ylabel="share that was relevant")
        axes.legend()
    path = folder / f"reliability-{topic}.png"
    try:
        figure.savefig(path, dpi=110)
    except OSError as error:
        raise ConfigError(f"The picture cannot be written to {folder}: {error.strerror}.") from error
    pyplot.close(figure)
    return path
