"""Double deep Q-learning (TRES, sec. 2.4.2): transitions in, the value of links out."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import huber_loss, mse_loss
from torch.nn.utils import clip_grad_norm_

from tres_crawler.config import LearnSettings
from tres_crawler.errors import ModelError
from tres_crawler.learn.network import Floats, QNetwork, Weights
from tres_crawler.learn.replay import SAMPLE, Batch, Replay, Transition
from tres_crawler.learn.snapshot import DAMAGED, Shape, pack, unpack
from tres_crawler.records import Divergence

logger = logging.getLogger(__name__)

MARGIN = 3.0
"""Values beyond so many times the greatest possible return are taken for divergence; overestimates stay well below."""
GOOD_EVERY = 100
"""Gradient steps without trouble after which the weights count as good."""
SLOWER = 0.5
"""Factor on the learning rate after a divergence."""

State = dict[str, Tensor]


class Ddqn:
    """Learns the value of links; its weights are always finite. Belongs to one thread at a time.

    `prior` has a weight per feature and stands for the value before learning; `settings.prior` may leave it out.
    """

    def __init__(
        self,
        settings: LearnSettings,
        feature_set: str,
        dim: int,
        *,
        prior: Floats | None = None,
        seed: int = 0,
        max_reward: float = 1.0,
    ) -> None:
        # For the whole process: on shared cores two threads that wait for each other make a step 100 times slower.
        torch.set_num_threads(1)
        self.settings = settings
        self.feature_set = feature_set
        self.dim = dim
        self.steps = 0
        """Gradient steps tried so far; the version of the weights."""
        self.refused = 0
        """Transitions that were not made of finite numbers."""
        self.last_page = 0
        """Greatest page number remembered: after a restart the pages behind it can be remembered anew."""
        self.divergences = 0
        self.learning_rate = settings.learning_rate
        self.replay = Replay(dim, settings.replay)
        self._bound = MARGIN * max_reward / (1 - settings.discount)
        self._rng = np.random.default_rng(seed)
        chance = torch.Generator().manual_seed(seed)
        self._online = QNetwork(dim, settings.hidden, chance, prior if settings.prior else None)
        self._target = QNetwork(dim, settings.hidden, chance, prior if settings.prior else None)
        self._told: list[Divergence] = []
        self._begin(_copy(self._online))

    # ---- learning ----

    def remember(self, transition: Transition) -> None:
        if not transition.is_sound():
            self.refused += 1
            logger.warning("page %d: its features or reward are not numbers; not learned from", transition.page)
            return
        self.replay.add(transition, self._rng)
        self.last_page = max(self.last_page, transition.page)

    def relabel(self, rewards: Mapping[int, float]) -> int:
        """Rewards by page number, as a new judge sees them; returns how many transitions that changed."""
        return self.replay.relabel(rewards)

    def train(self, steps: int) -> float | None:
        """Take so many gradient steps; their mean loss, or None if there was nothing to learn from."""
        if len(self.replay) <= self.settings.warm_up:
            return None
        tried = [self._step() for _ in range(steps)]
        losses = [loss for loss in tried if loss is not None]
        return sum(losses) / len(losses) if losses else None

    def _step(self) -> float | None:
        """One update on one minibatch."""
        batch = self.replay.sample(self.settings.batch, self._rng)
        target = torch.from_numpy(batch.rewards)
        if self.settings.discount:
            target = target + self.settings.discount * self._next_value(batch)
        value = self._online(torch.from_numpy(batch.features))
        # Both are least at the mean of the targets while errors stay below 1, as they do with rewards up to 1; beyond
        # that, where something has gone wrong, Huber's gradient stays bounded.
        loss = huber_loss(value, target) if self.settings.loss == "huber" else mse_loss(value, target)
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        length = clip_grad_norm_(self._online.parameters(), self.settings.clip)
        self.steps += 1
        if trouble := self._trouble(value, loss, length):
            self._fall_back(trouble)
            return None
        self._optimiser.step()
        self._draw_back()
        if self.steps % self.settings.target_every == 0:
            self._target.load_state_dict(self._online.state_dict())
        self._healthy += 1
        if self._healthy % GOOD_EVERY == 0:
            self._good = _copy(self._online)
        return loss.item()

    @torch.no_grad()
    def _draw_back(self) -> None:
        """Towards what learning began with (L2-SP: Li, Grandvalet and Davoine 2018), apart from Adam's own step."""
        share = min(1.0, self.learning_rate * self.settings.weight_decay)
        if share:
            for name, weights in self._online.named_parameters():
                weights.lerp_(self._first[name], share)

    @torch.no_grad()
    def _next_value(self, batch: Batch) -> Tensor:
        """What the best next step is worth: chosen by the online network, valued by the target network."""
        candidates, real = batch.candidates, batch.real
        allowed = real.copy()
        if self.settings.target != "paper":
            allowed[:, SAMPLE] = False
        guess = torch.full(allowed.shape, -torch.inf)
        guess[torch.from_numpy(allowed)] = self._online(_tensor(candidates[allowed]))
        best = candidates[np.arange(len(candidates)), guess.argmax(1).numpy()]
        value: Tensor = self._target(_tensor(best)) * torch.from_numpy(allowed.any(1))
        if self.settings.target == "advantage":
            # A page is worth what its links add to those that wait anyway.
            waiting = self._target(_tensor(candidates[:, SAMPLE])) * torch.from_numpy(real[:, SAMPLE])
            value = (value - waiting).clamp(min=0)
        return value

    def weights(self) -> Weights:
        return Weights.of(self._online, self.steps)

    # ---- divergence ----

    def _trouble(self, value: Tensor, loss: Tensor, length: Tensor) -> str:
        greatest = value.detach().abs().max().item()
        # Before the step is taken: so no weight ever becomes infinite.
        if not (np.isfinite(loss.item()) and np.isfinite(length.item())):
            return "the loss or its gradient is not finite"
        if greatest > self._bound:
            return f"a value of {greatest:.3g} is beyond {self._bound:.3g}, which no rewards can add up to"
        return ""

    def _fall_back(self, reason: str) -> None:
        self.divergences += 1
        self.learning_rate *= SLOWER
        self._told.append(Divergence(self.steps, reason, self.learning_rate))
        logger.warning("learning diverged at step %d: %s; back to good weights", self.steps, reason)
        # Should they lead astray again before they have proved good, the next way back is to the very first.
        good, self._good = self._good, self._first
        self._go_on_from(good)

    def divergences_untold(self) -> list[Divergence]:
        """Those since this was last asked."""
        told, self._told = self._told, []
        return told

    def _begin(self, state: State) -> None:
        """Start learning from given weights."""
        self._first = self._good = state
        self._go_on_from(state)

    def _go_on_from(self, state: State) -> None:
        self._online.load_state_dict(state)
        self._target.load_state_dict(state)
        self._optimiser = torch.optim.Adam(self._online.parameters(), self.learning_rate, fused=True)
        self._healthy = 0

    # ---- saving ----

    def policy(self) -> bytes:
        """What has been learned, to start another crawl from."""
        return pack(self._shape, {"kind": "policy"}, {"online": _arrays(_copy(self._online))})

    def snapshot(self) -> bytes:
        """Everything, to go on learning as if nothing had happened."""
        counters = {
            "steps": self.steps,
            "refused": self.refused,
            "last_page": self.last_page,
            "divergences": self.divergences,
            "healthy": self._healthy,
            "learning_rate": self.learning_rate,
            "rng": self._rng.bit_generator.state,
        }
        states = {
            "online": _copy(self._online),
            "target": _copy(self._target),
            "good": self._good,
            "first": self._first,
        }
        adam = {
            f"{at}.{name}": value.numpy()
            for at, named in self._optimiser.state_dict()["state"].items()
            for name, value in named.items()
        }
        parts = {name: _arrays(state) for name, state in states.items()}
        return pack(self._shape, {"kind": "full", **counters}, {**parts, "adam": adam, "replay": self.replay.arrays()})

    def load_policy(self, saved: bytes) -> None:
        """Start from what another crawl has learned; its experiences and counters stay behind."""
        self._begin(unpack(saved, self._shape).state("online", self._good))

    def begin_with(self, saved: bytes) -> None:
        """Start from a policy if it is of this shape; a learner of other features begins as it is."""
        with suppress(ModelError):
            self.load_policy(saved)

    def load(self, saved: bytes) -> None:
        """Go on from a snapshot; a ModelError leaves this learner as it was."""
        snapshot = unpack(saved, self._shape)
        header = snapshot.header
        if header.get("kind") != "full":
            raise ModelError("The saved learner is a policy without its experiences. Use it with --policy-from.")
        online, target, good, first = (
            snapshot.state(name, self._good) for name in ("online", "target", "good", "first")
        )
        adam: dict[int, State] = {}
        for key, value in snapshot.part("adam").items():
            at, _, name = key.partition(".")
            adam.setdefault(int(at), {})[name] = torch.tensor(value)
        replay, rng = Replay(self.dim, self.settings.replay), np.random.default_rng()
        try:
            replay.restore(snapshot.part("replay"))
            rng.bit_generator.state = header["rng"]
            counters = [header[name] for name in ("steps", "refused", "last_page", "divergences", "healthy")]
            self.learning_rate = float(header["learning_rate"])
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise ModelError(DAMAGED) from error
        self.replay, self._rng = replay, rng
        self._begin(online)
        self._optimiser.load_state_dict({**self._optimiser.state_dict(), "state": adam})
        self._target.load_state_dict(target)
        self._first, self._good = first, good
        self.steps, self.refused, self.last_page, self.divergences, self._healthy = counters

    @property
    def _shape(self) -> Shape:
        return Shape(self.feature_set, self.dim, self.settings.hidden)


def _tensor(rows: NDArray[np.float16]) -> Tensor:
    return torch.from_numpy(rows.astype(np.float32))


def _copy(network: QNetwork) -> State:
    return {name: value.clone() for name, value in network.state_dict().items()}


def _arrays(state: State) -> dict[str, Floats]:
    return {name: value.numpy() for name, value in state.items()}
