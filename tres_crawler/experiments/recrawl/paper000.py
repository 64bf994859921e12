"""Deep reinforcement learning for web crawling (paper 000): single pages, groups, and Figures 1 to 4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tres_crawler.experiments.pictures import Picture
from tres_crawler.experiments.recrawl import worth
from tres_crawler.experiments.recrawl.beliefs import Learned, known
from tres_crawler.experiments.recrawl.findings import Findings, Options, window_mean
from tres_crawler.experiments.recrawl.world import Updates, independent, play
from tres_crawler.experiments.report import Check
from tres_crawler.recrawl.bandit import BanditThompson
from tres_crawler.recrawl.baselines import ExactWhittle, Uniform
from tres_crawler.recrawl.deep import FullGradient
from tres_crawler.recrawl.grouped import Grouped
from tres_crawler.recrawl.laboratory import THOMPSON_VISITS
from tres_crawler.recrawl.qlearner import Gradient
from tres_crawler.recrawl.ranked import Floats, RankedScheduler, Rows
from tres_crawler.recrawl.scheduler import Scheduler
from tres_crawler.recrawl.static import best_shares
from tres_crawler.recrawl.switched import Switched

IMPORTANCE = (5.0, 0.2, 1.0, 0.5)
STEPS = 3000
WINDOW = 200
SMALL = (256, 8)


@dataclass(frozen=True)
class Setting:
    """Four kinds of pages: how many, and how often one of them changes."""

    name: str
    sizes: tuple[int, int, int, int]
    rates: tuple[float, float, float, float]

    @property
    def group(self) -> list[int]:
        return np.repeat(range(4), self.sizes).tolist()

    @property
    def page_rates(self) -> list[float]:
        return [self.rates[group] for group in self.group]

    @property
    def importance(self) -> list[float]:
        return [IMPORTANCE[group] for group in self.group]

    def over_groups(self, policy: RankedScheduler) -> Scheduler:
        """With one page in each, a group is its page."""
        return policy if sum(self.sizes) == 4 else Grouped(policy, self.group.__getitem__)


SINGLE = Setting("single page in each group", (1, 1, 1, 1), (0.6, 0.08, 0.01, 0.3))
MULTIPLE = Setting("5, 80, 10, 5 pages in the groups", (5, 80, 10, 5), (0.1, 0.002, 0.005, 0.05))


class Shares(RankedScheduler):
    """Draws arms by fixed shares."""

    def __init__(self, shares: Floats, rng: np.random.Generator) -> None:
        super().__init__()
        self._shares, self._rng = shares, rng

    def scores(self, rows: Rows, ages: Floats) -> Floats:
        return np.asarray(np.log(self._shares[rows] + 1e-300) + self._rng.gumbel(size=len(rows)))


@dataclass(frozen=True)
class Way:
    """A policy, its reference figures (single, multiple) and how often it is run at most."""

    make: Callable[[Setting, int], Scheduler] | None
    """None: the index on the live crawler's own estimates, learned as it goes."""
    references: tuple[float | None, float | None] = (None, None)
    runs: int = 10
    shown: bool = False
    deep: bool = False
    """Then a quick run is a third as long."""


def _rng(run: int) -> np.random.Generator:
    return np.random.default_rng([run, 5])


def _static_pages(setting: Setting, run: int) -> Scheduler:
    """The best shares of pages, added up over their groups."""
    shares = best_shares(setting.importance, -np.expm1(-np.array(setting.page_rates)))
    return setting.over_groups(Shares(np.asarray(np.bincount(setting.group, shares), float), _rng(run)))


def _static_groups(setting: Setting, run: int) -> Scheduler:
    """The best shares of groups as if each were one page that changes as often as all of its own together."""
    rates = np.array(setting.rates) * setting.sizes
    return setting.over_groups(Shares(best_shares(IMPORTANCE, -np.expm1(-rates)), _rng(run)))


def _deep(gradient: Gradient, hidden: tuple[int, int] | None = None) -> Callable[[Setting, int], Scheduler]:
    return lambda setting, run: setting.over_groups(FullGradient(run, gradient=gradient, hidden=hidden))


def _thompson_first(setting: Setting, run: int) -> Scheduler:
    first = BanditThompson(_rng(run), IMPORTANCE.__getitem__)
    return setting.over_groups(Switched(first, FullGradient(run), THOMPSON_VISITS))


WAYS: dict[str, Way] = {
    "uniform": Way(lambda setting, run: setting.over_groups(Uniform(_rng(run))), (1.052, 1.173), shown=True),
    "Thompson, as printed": Way(
        lambda setting, run: setting.over_groups(BanditThompson(_rng(run))), (1.894, 1.637), shown=True
    ),
    "Thompson × importance": Way(
        lambda setting, run: setting.over_groups(BanditThompson(_rng(run), IMPORTANCE.__getitem__)), (2.257, 1.954)
    ),
    "static, pages": Way(_static_pages, (2.204, 1.663), shown=True),
    "static, groups as arms": Way(_static_groups, (None, 1.937)),
    "Whittle, rates known": Way(
        lambda setting, run: ExactWhittle(known(setting.page_rates, setting.importance)), (2.257, 1.959)
    ),
    "Whittle, rates learned": Way(None, (2.252, 1.957), shown=True),
    "FG-DQN 4000, 8": Way(_deep(Gradient.FULL), (1.934, 1.816), 4, shown=True, deep=True),
    "FG-DQN 256, 8": Way(_deep(Gradient.FULL, SMALL), (1.797, 1.659), 4, deep=True),
    "semi-gradient DQN 256, 8": Way(_deep(Gradient.SEMI, SMALL), (1.948, 1.849), 4, deep=True),
    "Thompson × importance, then FG-DQN": Way(_thompson_first, (None, None), 4, deep=True),
}
PUBLISHED_SHARES = (0.942, 0.055, 0.003, 0.0)


def findings(options: Options) -> Findings:
    found = Findings("000", {"quick": options.quick, "steps": STEPS, "window": WINDOW})
    _shares(found)
    for setting in (SINGLE, MULTIPLE):
        averages = _setting(found, options, setting)
        if setting is SINGLE:
            best = IMPORTANCE[0] * -np.expm1(-setting.rates[0])
            found.row(setting.name, "optimum: always page 1", best, reference=2.256, digits=3)
        others = {name: value for name, value in averages.items() if name != "uniform"}
        ratio = averages["Whittle, rates learned"] / averages["Whittle, rates known"]
        found.checks += [
            Check.at_least(f"{setting.name}: learned Whittle / known", round(ratio, 4), 0.99),
            Check.at_least(
                f"{setting.name}: worst other − uniform", round(min(others.values()) - averages["uniform"], 3), 0
            ),
        ]
    worth.add(found, options)
    return found


def _shares(found: Findings) -> None:
    """The optimum of eq. 8: the paper's p* with its second and third entries the other way round."""
    ours = best_shares(IMPORTANCE, -np.expm1(-np.array(SINGLE.rates)))
    corrected = np.array(PUBLISHED_SHARES)[[0, 2, 1, 3]]
    for page in range(4):
        found.row(
            "p* of static optimisation (Δ = 1 − e^−rate)",
            f"page {page + 1}; entries of pages 2 and 3 of the paper swapped",
            float(ours[page]),
            paper=float(corrected[page]),
            reference=(0.9418, 0.0033, 0.0549, 0.0)[page],
            digits=4,
            within=0.2,
        )
    worst = float(np.abs(ours - corrected).max())
    found.checks.append(Check.at_most("p*, entries 2 and 3 swapped: largest error", round(worst, 5), 0.0005))


def _setting(found: Findings, options: Options, setting: Setting) -> dict[str, float]:
    averages: dict[str, float] = {}
    curves: dict[str, list[Floats]] = {}
    for at, (name, way) in enumerate(WAYS.items()):
        runs = (2 if way.deep else 4) if options.quick else way.runs
        steps = STEPS // 3 if options.quick and way.deep else STEPS
        rewards = [_rewards(setting, way, run, steps) for run in range(runs)]
        reference = way.references[setting is MULTIPLE]
        averages[name] = found.row(setting.name, name, [one.mean() for one in rewards], reference=reference, digits=3)
        if way.shown:
            curves[name] = rewards
        options.say(f"{setting.name}, {name} ({at + 1} of {len(WAYS)}): {averages[name]:.3f}")
    figure = 2 if setting is MULTIPLE else 1
    found.pictures += [
        _curves(f"000-figure-{figure}", f"Running average: {setting.name}", curves, STEPS),
        _curves(f"000-figure-{figure + 2}", f"Average over {WINDOW} steps: {setting.name}", curves, WINDOW),
    ]
    return averages


def _rewards(setting: Setting, way: Way, run: int, steps: int) -> Floats:
    updates: Updates = independent(setting.page_rates, steps, np.random.default_rng([run, 2]))
    if way.make is None:
        beliefs = Learned(len(setting.group), setting.importance, setting.group)
        return play(updates, ExactWhittle(beliefs), importance=setting.importance, tell=beliefs.tell).rewards
    return play(updates, way.make(setting, run), importance=setting.importance).rewards


def _curves(name: str, title: str, curves: dict[str, list[Floats]], width: int) -> Picture:
    """Means over runs, with 95 % intervals."""
    lines, bands = {}, {}
    for label, rewards in curves.items():
        means = np.array([window_mean(one, width) for one in rewards])
        at = [float(step) for step in range(means.shape[1])]
        half = 1.96 * means.std(0, ddof=1) / np.sqrt(len(means))
        lines[label] = (at, means.mean(0).tolist())
        bands[label] = (at, (means.mean(0) - half).tolist(), (means.mean(0) + half).tolist())
    return Picture(name, title, "step", "reward", lines=lines, bands=bands)
