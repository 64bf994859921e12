"""A judge learns what its examples show, says how far it can be trusted, and never claims more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.texts import COOKING, GARDEN, made_examples
from tres_crawler.classify.calibrating import BETA, LEAST_TO_CALIBRATE, calibrate
from tres_crawler.classify.figures import best_threshold, calibration_error, measure
from tres_crawler.classify.neural import Calibration, NeuralModel
from tres_crawler.classify.prior import Prior, sigmoid
from tres_crawler.classify.svm import SvmModel
from tres_crawler.classify.training import (
    FOLDS,
    Fitted,
    Kind,
    Lesson,
    cross_validate,
    fit,
    folds,
    split,
)
from tres_crawler.errors import ModelError
from tres_crawler.records import Example, PageText

NEW = made_examples(40, seed=99)


def accuracy(fitted: Fitted, examples: list[Example]) -> float:
    said = fitted.model.pages([example.page for example in examples]) >= fitted.model.threshold
    return float(np.mean(said == [example.relevant for example in examples]))


# ---- learning ----


@pytest.mark.parametrize("kind", ["bilstm", "kwbilstm", "svm"])
def test_a_world_of_two_groups_of_words_is_mastered(food: Prior, kind: Kind) -> None:
    told: list[str] = []
    fitted = fit(kind, made_examples(80), food, seed=1, progress=told.append)
    assert accuracy(fitted, NEW) == 1.0
    assert fitted.figures is not None
    assert (fitted.figures.macro_f1, fitted.figures.auc, fitted.figures.held_out) == (1.0, 1.0, 16)
    assert not fitted.figures.is_agreement
    assert kind == "svm" or told[0].startswith("epoch 1: loss ")


def test_a_trained_judge_tells_anchors_apart_by_student_and_by_network(trained: Fitted) -> None:
    model = trained.model
    assert isinstance(model, NeuralModel)
    for judge in ("student", "network"):
        model.anchor_judge = judge
        food, other, nothing = model.anchors(["garlic soup", "station platform", ""])
        assert food > 0.5 > other
        assert food > nothing
    model.anchor_judge = "student"


@pytest.mark.parametrize("kind", ["kwbilstm", "svm"])
def test_one_seed_gives_one_judge_to_the_bit(food: Prior, kind: Kind) -> None:
    examples = made_examples(30)
    one, same = (fit(kind, examples, food, seed=5).model.dump() for _ in range(2))
    assert one == same
    if kind != "svm":
        assert fit(kind, examples, food, seed=6).model.dump() != one


def test_both_classes_weigh_the_same_however_few_there_are_of_one(food: Prior) -> None:
    examples = [replace(example, weight=2.0) for example in made_examples(50, share=0.1)]
    lesson = Lesson.of(examples, food, None)
    relevant = lesson.relevant > 0
    assert lesson.weights[relevant].sum() == pytest.approx(lesson.weights[~relevant].sum())
    assert lesson.weights.sum() == pytest.approx(len(examples))
    double = [replace(examples[0], weight=4.0), *examples[1:]]
    weights = Lesson.of(double, food, None).weights
    alike = [at for at, example in enumerate(examples) if example.relevant is examples[0].relevant and at]
    assert weights[0] == pytest.approx(2 * weights[alike[0]])


def test_one_relevant_page_in_ten_is_still_found(food: Prior) -> None:
    fitted = fit("bilstm", made_examples(100, share=0.1), food, seed=1)
    assert accuracy(fitted, NEW) > 0.95


def test_short_texts_are_learned_from_beside_pages(food: Prior) -> None:
    examples = [replace(example, anchor="words of a link") for example in made_examples(10)]
    lesson = Lesson.of(examples, food, np.random.default_rng(1))
    assert sum(lesson.is_short) == len(lesson.short_readings) == 4 * len(examples), "title, anchor and two pieces"
    assert all(len(reading.rows) <= 7 for reading in lesson.short_readings)


def test_too_few_examples_are_a_model_error_that_counts_them(food: Prior) -> None:
    examples = made_examples(40, share=0.1)
    with pytest.raises(ModelError, match="There are 4 relevant examples; a judge needs 5"):
        fit("bilstm", examples, food)
    with pytest.raises(ModelError, match="There are 0 irrelevant examples"):
        fit("svm", [example for example in made_examples(40) if example.relevant], food)
    with pytest.raises(ModelError, match="relevant examples"):
        cross_validate("svm", [], food)


def test_pages_without_any_text_are_learned_from_without_harm(food: Prior) -> None:
    empty = [Example(PageText("", "", ""), at % 2 == 0, group=f"empty {at}") for at in range(20)]
    fitted = fit("bilstm", [*made_examples(60), *empty], food, seed=1)
    assert np.isfinite(fitted.model.pages([PageText("", "", ""), PageText("", "", COOKING)])).all()
    assert accuracy(fitted, NEW) > 0.9


# ---- holding out ----


def test_groups_never_straddle_folds_and_every_example_is_tested_once(food: Prior) -> None:
    examples = [replace(example, group=f"site {at % 17}") for at, example in enumerate(made_examples(120))]
    made = folds(examples, seed=3)
    assert len(made) == FOLDS
    assert sorted(at for _, tested in made for at in tested) == list(range(120))
    for rest, tested in made:
        assert not {examples[at].group for at in rest} & {examples[at].group for at in tested}
        assert 0.2 < np.mean([examples[at].relevant for at in tested]) < 0.8
    learned, held = split(examples, seed=3)
    assert not {examples[at].group for at in learned} & {examples[at].group for at in held}


def test_examples_without_a_group_are_each_their_own(food: Prior) -> None:
    examples = [replace(example, group="") for example in made_examples(50)]
    assert {len(tested) for _, tested in folds(examples, seed=1)} == {10}


def test_only_what_a_person_said_is_held_out_where_there_is_enough_of_it() -> None:
    labelled, guessed = made_examples(30), made_examples(100, seed=2, label=False)
    examples = [*guessed, *labelled]
    _, held = split(examples, seed=1)
    assert all(examples[at].is_label for at in held)
    assert len(held) == 6
    few = [*guessed, *labelled[:3]]
    _, held = split(few, seed=1)
    assert not all(few[at].is_label for at in held)


def test_on_another_judges_word_figures_are_called_agreement_and_only_the_share_of_relevant_pages_counts(
    food: Prior,
) -> None:
    fitted = fit("kwbilstm", made_examples(210, label=False), food, seed=1, refit=False)
    assert fitted.figures is not None
    assert fitted.figures.held_out >= LEAST_TO_CALIBRATE
    assert fitted.figures.is_agreement
    assert isinstance(fitted.model, NeuralModel)
    known = fitted.model.calibration
    assert (known.temperature, known.threshold) == (1.0, 0.5)
    assert known.offset > 1.0, "half of them are relevant, which is more than usual"


def test_cross_validation_tells_figures_and_probabilities_of_each_fold(food: Prior) -> None:
    told: list[str] = []
    examples = made_examples(60)
    found = cross_validate("svm", examples, food, seed=1, progress=told.append)
    assert told == [f"svm: fold {number} of 5" for number in range(1, 6)]
    for figures, probabilities, tested in found:
        relevant = np.array([examples[at].relevant for at in tested])
        assert figures.held_out == len(tested) == len(probabilities)
        assert figures.auc == 1.0
        assert probabilities[relevant].min() > probabilities[~relevant].max()


# ---- figures by hand ----

SAID = np.array([0.9, 0.8, 0.7, 0.4, 0.3, 0.2, 0.1, 0.05], dtype=np.float32)
SO = np.array([True, False, True, True, False, False, False, False])


def test_precision_recall_and_f1_are_those_worked_out_by_hand() -> None:
    figures = measure(SAID, SO, threshold=0.5)
    assert figures.precision == pytest.approx(2 / 3)
    assert figures.recall == pytest.approx(2 / 3)
    assert figures.f1 == pytest.approx(2 / 3)
    assert figures.macro_f1 == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert figures.prevalence == pytest.approx(3 / 8)
    assert figures.auc == pytest.approx(13 / 15), "13 of 15 pairs are in the right order"


def test_figures_of_one_class_alone_have_no_auc() -> None:
    figures = measure(SAID, np.zeros(8, dtype=bool), threshold=0.5)
    assert (figures.auc, figures.precision, figures.recall, figures.f1) == (None, 0.0, 0.0, 0.0)


def test_the_calibration_error_is_the_mean_gap_between_said_and_so() -> None:
    said = np.array([0.95, 0.95, 0.95, 0.95, 0.15, 0.15], dtype=np.float32)
    so = np.array([True, True, True, False, False, False])
    assert calibration_error(said, so) == pytest.approx((4 * 0.20 + 2 * 0.15) / 6)
    assert calibration_error(np.array([1.0, 0.0], np.float32), np.array([True, False])) == 0.0


def test_the_threshold_is_the_best_for_the_goal() -> None:
    # One sure hit, then 3 hits among 5, then all 4 among 10.
    so = np.array([1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0], dtype=bool)
    said = np.linspace(0.92, 0.15, 12).astype(np.float32)

    def f_beta(threshold: float, beta: float) -> float:
        taken = said >= threshold
        hits = (taken & so).sum()
        return float((1 + beta**2) * hits / (beta**2 * so.sum() + taken.sum()))

    chosen = {goal: best_threshold(said, so, beta) for goal, beta in BETA.items()}
    for goal, beta in BETA.items():
        assert f_beta(chosen[goal], beta) == pytest.approx(max(f_beta(float(at), beta) for at in said))
    assert chosen["recall"] < chosen["f1"] <= chosen["precision"]
    assert best_threshold(np.array([0.99, 0.98], np.float32), np.array([True, True]), 1.0) >= 0.05


# ---- calibration ----


def overconfident(food: Prior, trained: Fitted) -> NeuralModel:
    """The trained network, its logits stretched eightfold."""
    model = trained.model
    assert isinstance(model, NeuralModel)
    return NeuralModel(model.network, model.inputs, model.student, Calibration(temperature=1 / 8))


def test_temperature_lowers_the_calibration_error_of_overconfident_logits(food: Prior, trained: Fitted) -> None:
    model, examples = overconfident(food, trained), made_examples(400, seed=7)
    logits = model.page_margins([example.page for example in examples])
    too_much = float(np.abs(logits).mean())
    chances = np.random.default_rng(4).random(len(logits)) < sigmoid(logits / too_much)
    held = [replace(example, relevant=bool(chance)) for example, chance in zip(examples, chances, strict=True)]
    figures = calibrate(model, held, "f1")
    assert figures.uncalibrated_error > 0.15
    assert figures.calibration_error < 0.08
    assert model.calibration.temperature == pytest.approx(too_much / 8, rel=0.3), "what it was stretched by is found"
    pages = [example.page for example in held]
    assert measure(model.pages(pages), np.array([ex.relevant for ex in held]), model.threshold) == replace(
        figures, uncalibrated_error=figures.calibration_error
    )


def test_an_svm_is_calibrated_too(food: Prior) -> None:
    model = SvmModel.fit(made_examples(60))
    rng = np.random.default_rng(4)
    held = [replace(ex, relevant=bool(ex.relevant ^ (rng.random() < 0.25))) for ex in made_examples(200, seed=7)]
    model.slope = 1.0
    figures = calibrate(model, held, "f1")
    assert figures.calibration_error < figures.uncalibrated_error
    assert 0.5 < float(model.pages([PageText("", "", " ".join(["soup bread garlic"] * 9))])[0]) < 0.95


@pytest.mark.parametrize("relevant", [True, False])
def test_held_out_examples_of_one_class_calibrate_nothing(food: Prior, trained: Fitted, relevant: bool) -> None:
    model = overconfident(food, trained)
    held = [example for example in made_examples(120, seed=8) if example.relevant is relevant]
    figures = calibrate(model, held, "f1")
    assert (figures.auc, figures.held_out) == (None, 60)
    assert model.calibration == Calibration(temperature=1 / 8)


def test_a_judge_that_is_wrong_throughout_is_not_turned_round(food: Prior, trained: Fitted) -> None:
    model = overconfident(food, trained)
    calibrate(model, [replace(ex, relevant=not ex.relevant) for ex in made_examples(80, seed=8)], "f1")
    assert model.calibration == Calibration(temperature=1 / 8)


def test_words_that_lie_side_by_side_as_vectors_are_told_apart_by_themselves(food: Prior) -> None:
    """A neighbouring topic whose texts differ from the topic's in one word alone, which no vector knows."""
    rng = np.random.default_rng(2)

    def page(odd: str) -> PageText:
        kitchen = rng.permutation(["soup", "bread", "garlic", "salt", "oven", "butter", "flour", "onion"] * 4)
        return PageText("", "", f"The {' and the '.join(kitchen[:12])} were {odd}. We had {odd} at home.")

    def examples(count: int) -> list[Example]:
        return [Example(page("zorblax" if at % 2 else "quibnar"), bool(at % 2)) for at in range(count)]

    model = fit("bilstm", examples(80), food, seed=1).model
    assert isinstance(model, NeuralModel) and model.words
    held = examples(60)
    pages, relevant = [example.page for example in held], np.array([example.relevant for example in held])
    assert ((model.pages(pages) >= model.threshold) == relevant).mean() > 0.95
    without = NeuralModel(model.network, model.inputs, model.student, model.calibration)
    assert ((without.pages(pages) >= model.threshold) == relevant).mean() < 0.8


def few_of_many(relevant: int, irrelevant: int, background: int = 0, seed: int = 3) -> list[Example]:
    """Pages of mostly their own words, few of them relevant, and clean prose that the project adds."""
    rng = np.random.default_rng(seed)

    def page(kind: str, of_kind: int) -> PageText:
        odd = [f"odd{number}" for number in rng.integers(10_000, size=40 - of_kind)]
        return PageText("", "", " ".join([f"{kind}{number}" for number in rng.integers(30, size=of_kind)] + odd))

    return [
        *(Example(page("soup", 8), True, group=f"a{at}") for at in range(relevant)),
        *(Example(page("train", 2), False, group=f"b{at}") for at in range(irrelevant)),
        *(Example(page("prose", 40), False, group=f"c{at}", is_met=False) for at in range(background)),
    ]


def test_words_are_centred_between_pages_that_were_met_and_not_learned_from(food: Prior) -> None:
    """An SVM of few relevant pages finds fault with all that is new, and most with prose that no crawl meets."""
    model = fit("bilstm", few_of_many(8, 40, 80), food, seed=1).model
    assert isinstance(model, NeuralModel) and model.words
    new = few_of_many(50, 50, seed=4)
    margins = model.words.page_margins([example.page for example in new])
    half_way = (margins[:50].mean() + margins[50:].mean()) / 2
    assert half_way < -0.2
    assert model.calibration.words_centre == pytest.approx(half_way, abs=0.1)


def test_a_network_is_told_to_leave_words_out(food: Prior) -> None:
    model = fit("bilstm", few_of_many(20, 40), food, seed=1, words=False).model
    assert isinstance(model, NeuralModel)
    assert (model.words, model.calibration.words_weight) == (None, 0.0)


def test_words_that_cannot_be_centred_are_left_out(food: Prior) -> None:
    few = fit("bilstm", few_of_many(5, 40), food, seed=1).model
    silent = [Example(PageText("", "", "soup" if at == 0 else "…"), at % 2 == 0, group=f"{at}") for at in range(24)]
    for model in (few, fit("bilstm", silent, food, seed=1).model):
        assert isinstance(model, NeuralModel)
        assert (model.words, model.calibration.words_weight) == (None, 0.0)


def test_the_more_labels_there_are_the_less_the_prior_has_to_say(food: Prior) -> None:
    def weights(count: int, label: bool) -> tuple[float, float]:
        model = fit("bilstm", made_examples(count, label=label), food, seed=1, refit=False).model
        assert isinstance(model, NeuralModel)
        return model.calibration.trained_weight, model.calibration.prior_weight

    guessed, few, more = weights(30, False), weights(30, True), weights(120, True)
    assert guessed[1] == 1.0 > few[1] > more[1]
    assert few[0] < more[0] < 1.0


def test_the_logits_that_are_blended_are_those_of_network_and_prior(food: Prior) -> None:
    known = Calibration(trained_weight=0.5, prior_weight=2.0, temperature=4.0, offset=1.0)
    trained, prior, words = (np.array([value], np.float32) for value in (2.0, 3.0, 0.75))
    assert float(known.logits(trained, prior)[0]) == (0.5 * 2 + 2 * 3 + 1) / 4
    with_words = replace(known, words_weight=8.0, words_centre=0.25)
    assert float(with_words.logits(trained, prior, words)[0]) == (0.5 * 2 + 2 * 3 + 8 * 0.5 + 1) / 4
    assert with_words.logits(trained, prior) == known.logits(trained, prior), "anchors are too short for words"
    assert sigmoid(np.array([0.0, 40.0, -1e9], np.float32)).tolist() == pytest.approx([0.5, 1.0, 0.0], abs=1e-9)


def test_real_prose_is_told_apart_after_learning_from_the_made_world(trained: Fitted) -> None:
    cooking, garden = trained.model.pages([PageText("", "", COOKING), PageText("", "", GARDEN)])
    assert cooking > garden
