"""Examples → a trained judge, with the figures that say how far it can be trusted (TRES, sec. 3.3)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from torch.nn.functional import binary_cross_entropy_with_logits

from tres_crawler.classify.calibrating import Goal, calibrate
from tres_crawler.classify.figures import Figures, measure
from tres_crawler.classify.network import BiLstm
from tres_crawler.classify.neural import Calibration, Inputs, NeuralModel
from tres_crawler.classify.prevalence import prevalence
from tres_crawler.classify.prior import Prior
from tres_crawler.classify.reading import Reading
from tres_crawler.classify.student import teach
from tres_crawler.classify.svm import SvmModel
from tres_crawler.errors import ModelError
from tres_crawler.records import Example
from tres_crawler.vectors import Floats

Kind = Literal["bilstm", "kwbilstm", "svm"]
Progress = Callable[[str], None]
Indices = npt.NDArray[np.int64]

FOLDS = 5
MOST_EPOCHS = 10
PATIENCE = 2
BATCH = 32
LEARNING_RATE = 2e-3
LINEAR_STRENGTH = 1.0
"""C of the line that a network starts as: weaker lines carry over better from one book or site to the next."""
SHORT_WEIGHT = 0.25
"""Weight of a title or a few words out of a page beside the page itself: they teach the network to judge anchors."""
SHORT_WORDS = (2, 7)
CROPPED_TOKENS = 96
"""In training a page is read from a random word on, this many words: half the time, and another page each epoch."""
LEAST_PER_CLASS = 5
WORDS_WEIGHT = 6.0
"""Of the margin of single words beside the network's logit: about as much as that says."""
ENOUGH_LABELS = 200
"""From so many relevant labels on, the prior has no say any more."""


@dataclass(frozen=True)
class Fitted:
    model: NeuralModel | SvmModel
    figures: Figures | None
    """None where there was too little to hold anything out."""


def fit(
    kind: Kind,
    examples: Sequence[Example],
    prior: Prior,
    goal: Goal = "f1",
    seed: int = 0,
    progress: Progress = lambda _: None,
    refit: bool = True,
    words: bool = True,
) -> Fitted:
    """Train on most of the examples, calibrate and choose the threshold on the rest, then learn from that rest too."""
    _check(examples)
    learned, held = split(examples, seed)
    model, epochs = _fit(kind, examples, learned, held, prior, seed, progress, words)
    figures = calibrate(model, [examples[at] for at in held], goal) if len(held) else None
    if refit and len(held):
        model = _fit_again(model, examples, prior, seed, progress, epochs)
    return Fitted(model, figures)


def cross_validate(
    kind: Kind,
    examples: Sequence[Example],
    prior: Prior,
    seed: int = 0,
    progress: Progress = lambda _: None,
    words: bool = True,
) -> list[tuple[Figures, Floats, Indices]]:
    """Stratified five-fold cross-validation, groups kept whole: figures, probabilities and places of each fold."""
    _check(examples)
    told = []
    for number, (rest, tested) in enumerate(folds(examples, seed)):
        progress(f"{kind}: fold {number + 1} of {FOLDS}")
        fitted = fit(kind, [examples[at] for at in rest], prior, seed=seed, refit=False, words=words)
        probabilities = fitted.model.pages([examples[at].page for at in tested])
        relevant = np.array([examples[at].relevant for at in tested])
        told.append((measure(probabilities, relevant, fitted.model.threshold), probabilities, tested))
    return told


def _check(examples: Sequence[Example]) -> None:
    for label, name in ((True, "relevant"), (False, "irrelevant")):
        found = sum(example.relevant is label for example in examples)
        if found < LEAST_PER_CLASS:
            raise ModelError(f"There are {found} {name} examples; a judge needs {LEAST_PER_CLASS} to learn from.")


# ---- splitting ----


def folds(examples: Sequence[Example], seed: int) -> list[tuple[Indices, Indices]]:
    relevant = np.array([example.relevant for example in examples])
    groups = np.array([example.group or f"#{at}" for at, example in enumerate(examples)])
    least = min(len(set(groups[relevant])), len(set(groups[~relevant])))
    if least >= FOLDS:
        found = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed).split(groups, relevant, groups)
    else:
        found = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(groups, relevant)
    return list(found)


def split(examples: Sequence[Example], seed: int) -> tuple[Indices, Indices]:
    """A fifth is held out: only labels if there are enough of them, since only they tell the truth."""
    labels = np.array([at for at, example in enumerate(examples) if example.is_label], dtype=np.int64)
    relevant = sum(example.relevant for example in examples if example.is_label)
    chosen = labels if min(relevant, len(labels) - relevant) >= FOLDS else np.arange(len(examples))
    _, held = folds([examples[at] for at in chosen], seed)[0]
    return np.setdiff1d(np.arange(len(examples)), chosen[held]), chosen[held]


# ---- fitting ----


def _fit(
    kind: Kind,
    examples: Sequence[Example],
    learned: Indices,
    held: Indices,
    prior: Prior,
    seed: int,
    progress: Progress,
    words: bool,
) -> tuple[NeuralModel | SvmModel, int]:
    """A model, and after how many epochs it was best."""
    chosen = [examples[at] for at in learned]
    if kind == "svm":
        return SvmModel.fit(chosen), 1
    tested = Lesson.of([examples[at] for at in held], prior, None) if len(held) else None
    model, best = _network(kind, chosen, tested, prior, seed, progress)
    relevant = sum(example.weight for example in chosen if example.relevant)
    labels = sum(example.relevant and example.is_label for example in chosen)
    model.calibration = Calibration(
        trained_weight=relevant / (relevant + 10.0),
        prior_weight=0.0 if labels >= ENOUGH_LABELS else 1.0 / (1.0 + labels / 30.0),
    )
    if unlabelled := [example.page for example in examples if example.is_met and not example.is_label]:
        model.calibration = replace(model.calibration, offset=prevalence(model.page_margins(unlabelled)).shift)
    # Whoever is left without words by pages that have none judges as well as it can.
    with suppress(ModelError):
        if words:
            _add_words(model, chosen, seed)
    return model, best


def _fit_again(
    model: NeuralModel | SvmModel,
    examples: Sequence[Example],
    prior: Prior,
    seed: int,
    progress: Progress,
    epochs: int,
) -> NeuralModel | SvmModel:
    """The same of all examples; what was set by those that were held out stays."""
    if isinstance(model, SvmModel):
        whole = SvmModel.fit(examples)
        whole.slope, whole.intercept, whole.threshold = model.slope, model.intercept, model.threshold
        return whole
    again, _ = _network(model.kind, examples, None, prior, seed, progress, epochs)
    again.calibration = model.calibration
    again.words = SvmModel.fit(examples) if model.words else None
    return again


def _network(
    kind: Kind,
    examples: Sequence[Example],
    held: Lesson | None,
    prior: Prior,
    seed: int,
    progress: Progress,
    epochs: int | None = None,
) -> tuple[NeuralModel, int]:
    """A network with its student, not calibrated."""
    lesson = Lesson.of(examples, prior, np.random.default_rng(seed))
    inputs = Inputs(prior, keyword_aware=kind == "kwbilstm")
    network, best = _train(inputs, lesson, held, seed, progress, epochs)
    model = NeuralModel(network, inputs, None, Calibration())
    short = lesson.short_readings
    model.student = teach(prior, short, model.logits(short, anchors=True), seed)
    return model, best


def _add_words(model: NeuralModel, examples: Sequence[Example], seed: int) -> None:
    """Let single words join in, centred by what they say of pages that were not learned from."""
    relevant = np.array([example.relevant for example in examples])
    if min(relevant.sum(), (~relevant).sum()) < FOLDS:
        return
    said = np.full(len(examples), np.nan)
    for rest, tested in folds(examples, seed):
        if 0 < relevant[rest].sum() < len(rest):
            learned = SvmModel.fit([examples[at] for at in rest])
            said[tested] = learned.page_margins([examples[at].page for at in tested])
    # What the project adds is clean prose, and further away than anything that is met.
    met = np.array([example.is_met for example in examples])
    classes = [said[mine & met & ~np.isnan(said)] for mine in (relevant, ~relevant)]
    if all(map(len, classes)):
        centre = float(np.mean([margins.mean() for margins in classes]))
        model.words = SvmModel.fit(examples)
        model.calibration = replace(model.calibration, words_weight=WORDS_WEIGHT, words_centre=centre)


@dataclass(frozen=True)
class Lesson:
    """Readings with their labels and weights; pages first, then short texts out of them."""

    readings: Sequence[Reading]
    is_short: Sequence[bool]
    relevant: Floats
    weights: Floats

    @classmethod
    def of(cls, examples: Sequence[Example], prior: Prior, rng: np.random.Generator | None) -> Lesson:
        """With short texts drawn by `rng`, or without any; both classes weigh the same."""
        readings = [prior.reader.read(example.page) for example in examples]
        relevant = [example.relevant for example in examples]
        weights = [example.weight for example in examples]
        short = [False] * len(examples)
        for example in examples if rng else ():
            assert rng is not None
            for text in _short_texts(example, rng):
                readings.append(prior.reader.read_anchor(text))
                relevant.append(example.relevant)
                weights.append(example.weight * SHORT_WEIGHT)
                short.append(True)
        return cls(readings, short, np.array(relevant, np.float32), _balanced(np.array(relevant), np.array(weights)))

    @property
    def short_readings(self) -> list[Reading]:
        return [reading for reading, short in zip(self.readings, self.is_short, strict=True) if short]


def _short_texts(example: Example, rng: np.random.Generator) -> list[str]:
    found = [example.page.title.partition(" | ")[0], *([example.anchor] if example.anchor else [])]
    tokens = example.page.text[:2000].split()
    for _ in range(2):
        length = int(rng.integers(*SHORT_WORDS))
        start = int(rng.integers(max(1, len(tokens) - length)))
        found.append(" ".join(tokens[start : start + length]))
    return found


def _balanced(relevant: npt.NDArray[np.bool_], weights: Floats) -> Floats:
    share = np.where(relevant, weights[relevant].sum(), weights[~relevant].sum())
    found: Floats = (weights / np.maximum(share, 1e-9) * len(weights) / 2).astype(np.float32)
    return found


def _train(
    inputs: Inputs, lesson: Lesson, held: Lesson | None, seed: int, progress: Progress, epochs: int | None
) -> tuple[BiLstm, int]:
    """The network after its best epoch on what was held out, and which that was; or after just `epochs`.

    Epoch 0 is the linear model: where the LSTM adds nothing, nothing is added.
    """
    rng = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = BiLstm(inputs.shape)
        _start_linear(network, inputs, lesson)
        optimiser = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE, weight_decay=1e-2)
        best_loss, best_epoch, best = float("inf"), 0, copy.deepcopy(network.state_dict())
        if held is not None:
            best_loss = _held_loss(network, inputs, held)
        most = MOST_EPOCHS if epochs is None else epochs
        for epoch in range(1, most + 1):
            network.train()
            for part in _batches(lesson, rng):
                loss = _loss(network, inputs, lesson, part, rng)
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
                torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimiser.step()
            if held is None:
                progress(f"epoch {epoch} of {most}")
                continue
            now = _held_loss(network, inputs, held)
            progress(f"epoch {epoch}: loss {now:.3f} on what is held out")
            if now < best_loss:
                best_loss, best_epoch, best = now, epoch, copy.deepcopy(network.state_dict())
            elif epoch - best_epoch >= PATIENCE:
                break
        if held is not None:
            network.load_state_dict(best)
    return network.eval(), most if held is None else best_epoch


def _held_loss(network: BiLstm, inputs: Inputs, held: Lesson) -> float:
    network.eval()
    with torch.inference_mode():
        parts = np.array_split(np.arange(len(held.readings)), max(1, len(held.readings) // 128))
        losses = [float(_loss(network, inputs, held, part)) * len(part) for part in parts]
    return sum(losses) / len(held.readings)


def _start_linear(network: BiLstm, inputs: Inputs, lesson: Lesson) -> None:
    """Begin as the linear model on mean vectors and facts: what the LSTM sees can then only be added to it."""
    batch = inputs.batch([_cropped(reading, 0) for reading in lesson.readings], lesson.is_short)
    known = torch.cat([batch.mean, batch.facts], dim=1).numpy()
    line = LogisticRegression(C=LINEAR_STRENGTH, max_iter=300).fit(known, lesson.relevant > 0, lesson.weights)
    with torch.no_grad():
        network.out.weight.zero_()
        network.out.weight[0, -known.shape[1] :] = torch.from_numpy(line.coef_[0].astype(np.float32))
        network.out.bias[:] = float(line.intercept_[0])


def _cropped(reading: Reading, start: int) -> Reading:
    return replace(reading, rows=reading.rows[start : start + CROPPED_TOKENS])


def _loss(
    network: BiLstm, inputs: Inputs, lesson: Lesson, part: Indices, rng: np.random.Generator | None = None
) -> torch.Tensor:
    """With `rng`, on random crops of the texts."""
    readings = [lesson.readings[at] for at in part]
    if rng is not None:
        starts = [int(rng.integers(max(1, len(reading.rows) - CROPPED_TOKENS + 1))) for reading in readings]
        readings = [_cropped(reading, start) for reading, start in zip(readings, starts, strict=True)]
    batch = inputs.batch(readings, [lesson.is_short[at] for at in part])
    wanted, weights = torch.from_numpy(lesson.relevant[part]), torch.from_numpy(lesson.weights[part])
    return binary_cross_entropy_with_logits(network(batch), wanted, weights)


def _batches(lesson: Lesson, rng: np.random.Generator) -> list[Indices]:
    """In random order, texts of like length together: less padding, more speed."""
    lengths = np.array([len(reading.rows) for reading in lesson.readings]) + rng.uniform(0, 20, len(lesson.readings))
    order = np.argsort(lengths)
    parts = np.array_split(order, max(1, len(order) // BATCH))
    return [parts[at] for at in rng.permutation(len(parts))]
