"""The best plan for a short horizon in a known latent Bernoulli model: exact, and by samples (paper 001, Alg. 1).

What matters of the past is which sources have an update that was not seen yet. The exact programme carries the
chances of all such sets along; the sampled one carries a number of sets drawn from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tres_crawler.errors import ConfigError
from tres_crawler.experiments.recrawl.latent import Bits, LatentModel

Floats = NDArray[np.float64]

MOST_HISTORIES = 200_000
"""Sequences of visits and outcomes that a programme may look at."""
MOST_NODES = 10
"""Nodes for which all sets of updates can be listed."""


class Plan(NamedTuple):
    source: int
    """To visit now."""
    hits: float
    """Updates found until the horizon, expected."""


class ExactProgramme:
    """All histories and the exact chances of all outcomes, for constant rates."""

    def __init__(self, model: LatentModel) -> None:
        count = len(model.rates)
        if count > MOST_NODES:
            raise ConfigError(
                f"The exact programme lists all sets of updated nodes: at most {MOST_NODES} nodes, not {count}. "
                "Use the sampled one."
            )
        self._count = count
        self._updates = _update_law(model)
        sets = np.arange(1 << count)
        self._joined = sets[:, None] | sets[None, :]

    def start(self) -> Floats:
        """The chances of sets when everything has just been seen."""
        belief = np.zeros(1 << self._count)
        belief[0] = 1.0
        return belief

    def plan(self, belief: Floats, horizon: int) -> Plan:
        """The best visit in the coming slot, when `horizon` slots are left; `belief` is from before its updates."""
        _check_horizon(self._count, horizon)
        return self._best(self.after_slot(belief), horizon)

    def after_slot(self, belief: Floats) -> Floats:
        """The chances after one more slot's updates."""
        both = np.outer(belief, self._updates)
        return np.asarray(np.bincount(self._joined.ravel(), both.ravel(), len(belief)), float)

    def seen(self, belief: Floats, source: int, changed: bool) -> Floats:
        """The chances once a visit of `source` has shown whether it was updated."""
        sets = np.arange(len(belief))
        has = (sets >> source & 1).astype(bool)
        kept = np.where(has == changed, belief, 0.0)
        moved = np.asarray(np.bincount(sets & ~(1 << source), kept, len(belief)), float)
        total = moved.sum()
        return np.asarray(moved / total) if total > 0 else moved

    def _best(self, belief: Floats, horizon: int) -> Plan:
        sets = np.arange(len(belief))
        plans: list[Plan] = []
        for source in range(self._count):
            hit = float(belief[(sets >> source & 1).astype(bool)].sum())
            value = hit
            if horizon > 1:
                for changed, chance in ((True, hit), (False, 1 - hit)):
                    if chance > 1e-12:
                        later = self.after_slot(self.seen(belief, source, changed))
                        value += chance * self._best(later, horizon - 1).hits
            plans.append(Plan(source, value))
        return max(plans, key=lambda plan: plan.hits)


class SampledProgramme:
    """The same with chances estimated from samples, for any number of nodes and rates that differ by slot."""

    def __init__(self, model: LatentModel, samples: int, rng: np.random.Generator, rates: Floats | None = None) -> None:
        self._model, self._samples, self._rng = model, samples, rng
        self._rates = rates

    def start(self) -> Bits:
        return np.zeros((self._samples, len(self._model.rates)), bool)

    def plan(self, belief: Bits, horizon: int, slot: int = 0) -> Plan:
        """As of the exact programme; `belief` holds one drawn set in a row."""
        _check_horizon(len(self._model.rates), horizon)
        if self._rates is not None and slot + horizon > len(self._rates):
            raise ConfigError(
                f"Rates are given for {len(self._rates)} slots; a horizon of {horizon} from slot {slot} on needs "
                f"{slot + horizon}. Give more, or take a shorter horizon."
            )
        ahead = [self._drawn(slot + step) for step in range(horizon)]
        return self._best(belief | ahead[0], ahead[1:])

    def after(self, belief: Bits, slot: int, source: int, changed: bool) -> Bits:
        """Samples that agree with what was seen in `slot`, drawn again to full number."""
        grown = belief | self._drawn(slot)
        agree = np.flatnonzero(grown[:, source] == changed)
        kept = grown[self._rng.choice(agree, self._samples)] if len(agree) else grown
        kept[:, source] = False
        return np.asarray(kept)

    def _drawn(self, slot: int) -> Bits:
        rates = None if self._rates is None else np.tile(self._rates[slot], (self._samples, 1))
        return self._model.updates(self._samples, self._rng, rates)

    def _best(self, sets: Bits, ahead: Sequence[Bits]) -> Plan:
        chances = sets.mean(0)
        plans: list[Plan] = []
        for source in range(sets.shape[1]):
            value = float(chances[source])
            if ahead:
                for changed in (True, False):
                    agree = sets[:, source] == changed
                    if agree.any():
                        later = sets[agree].copy()
                        later[:, source] = False
                        rest = self._best(later | ahead[0][agree], [one[agree] for one in ahead[1:]])
                        value += float(agree.mean()) * rest.hits
            plans.append(Plan(source, value))
        return max(plans, key=lambda plan: plan.hits)


def _check_horizon(nodes: int, horizon: int) -> None:
    if horizon < 1:
        raise ConfigError(f"A plan needs a horizon of at least 1 slot, not {horizon}.")
    histories = (2 * nodes) ** (horizon - 1) * nodes
    if histories > MOST_HISTORIES:
        longest = int(1 + np.log(MOST_HISTORIES / nodes) / np.log(2 * nodes))
        raise ConfigError(
            f"A horizon of {horizon} slots over {nodes} sources means {histories:,} histories, more than the "
            f"{MOST_HISTORIES:,} that are looked at. Take a horizon of at most {longest}, or fewer sources."
        )


def _update_law(model: LatentModel) -> Floats:
    """The chance of each set of nodes to be updated in a slot, sets as bits."""
    count = len(model.rates)
    law: Floats = np.zeros(1 << count)
    law[0] = 1.0
    sets = np.arange(1 << count)
    for node in range(count):
        reached = np.ones(1 << count)
        for other in range(count):
            weight = model.weights[node, other]
            reached *= np.where(sets >> other & 1, weight, 1 - weight)
        of_event = model.rates[node] * reached
        of_event[0] += 1 - model.rates[node]
        both = np.outer(law, of_event)
        law = np.asarray(np.bincount((sets[:, None] | sets[None, :]).ravel(), both.ravel(), len(law)), float)
    return law
