from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rejoinder.errors import TrainingError  # noqa: E402
from rejoinder.evaluation import evaluate  # noqa: E402
from rejoinder.models.ranker.module.ranker import (  # noqa: E402
    Ranker,
    RankerConfig,
    TorchScorer,
)
from rejoinder.training import checkpoint as checkpoints  # noqa: E402
from rejoinder.training import fit as fitting  # noqa: E402
from rejoinder.training.batches import split_pairs  # noqa: E402
from rejoinder.training.fit import Pace, Plan  # noqa: E402
from rejoinder.training.loop import Recipe, Step  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402
from rejoinder.training.options import Projection  # noqa: E402
from rejoinder.training.ranker import fit_ranker  # noqa: E402
from rejoinder.types import Example  # noqa: E402
from tests.models.examples import WIDTH, SpelledVectors  # noqa: E402

PLAN = Plan(RankerConfig("cosinet", WIDTH, "birnn", 0.1), Recipe(epochs=4, learning_rate=2e-3))


def equal(one: Ranker, other: Ranker) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_training_learns(examples: list[Example], vectors: SpelledVectors) -> None:
    plan = replace(PLAN, recipe=replace(PLAN.recipe, epochs=20))

    fitted = fit_ranker(plan, [Part(examples)], vectors)

    report = evaluate(TorchScorer(fitted.model, vectors), examples)
    assert report.means["P@1"] == 1.0
    assert fitted.steps == 60


def test_the_same_seed_gives_the_same_bits(
    examples: list[Example], vectors: SpelledVectors
) -> None:
    one, same = (fit_ranker(PLAN, [Part(examples)], vectors).model for _ in range(2))
    other = fit_ranker(
        replace(PLAN, recipe=replace(PLAN.recipe, seed=1)), [Part(examples)], vectors
    )

    assert equal(one, same)
    assert not equal(one, other.model)


@pytest.mark.parametrize("stop", [1, 5, 11])
def test_an_interrupted_training_resumes_to_the_same_bits(
    stop: int,
    examples: list[Example],
    vectors: SpelledVectors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", float("inf"))
    checkpoint = tmp_path / "model.checkpoint"
    through = fit_ranker(PLAN, [Part(examples)], vectors).model

    def interrupt(step: Step) -> None:
        if step.number == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_ranker(PLAN, [Part(examples)], vectors, checkpoint=checkpoint, on_step=interrupt)
    assert checkpoint.exists()
    numbers: list[int] = []
    resumed = fit_ranker(
        PLAN,
        [Part(examples)],
        vectors,
        checkpoint=checkpoint,
        on_step=lambda step: numbers.append(step.number),
    )

    assert numbers[0] == stop + 1
    assert equal(resumed.model, through)


def test_a_stopped_training_projects_its_cost(
    examples: list[Example],
    vectors: SpelledVectors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checkpoint = tmp_path / "model.checkpoint"
    through = fit_ranker(PLAN, [Part(examples)], vectors)

    stopped = fit_ranker(
        replace(PLAN, max_steps=5), [Part(examples)], vectors, checkpoint=checkpoint
    )
    resumed = fit_ranker(PLAN, [Part(examples)], vectors, checkpoint=checkpoint)

    assert through.projection is None
    assert (stopped.steps, through.steps) == (5, 12)
    assert stopped.projection
    assert stopped.projection.steps == 12
    assert stopped.projection.seconds_per_step > 0
    assert stopped.projection.seconds > 11 * stopped.projection.seconds_per_step - 0.01
    # Its learning rate is that of all steps, and it goes on where it stopped.
    assert equal(resumed.model, through.model)


def test_reading_the_data_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 110.0, 112.0, 114.0])
    monkeypatch.setattr("rejoinder.training.fit.time.monotonic", lambda: next(clock))
    pace = Pace()
    for number in (1, 2, 3):
        pace.add(Step(number, 100, 1, 0.5, ends_epoch=False))

    # 10 s until the first step ends, then 2 s for each of 99.
    assert pace.project() == Projection(100, 2.0, 208.0)


def test_measuring_dev_for_a_curve_is_no_time_of_a_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([100.0, 110.0])
    monkeypatch.setattr("rejoinder.training.fit.time.monotonic", lambda: next(clock))
    pace = Pace()

    pace.leave_out(4.0)

    assert pace.get_seconds() == 6.0


def test_a_finished_training_is_not_projected(
    examples: list[Example], vectors: SpelledVectors
) -> None:
    fitted = fit_ranker(replace(PLAN, max_steps=12), [Part(examples)], vectors)

    assert (fitted.steps, fitted.projection) == (12, None)


def test_the_checkpoint_stays_after_the_last_step(
    examples: list[Example], vectors: SpelledVectors, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "model.checkpoint"
    first = fit_ranker(PLAN, [Part(examples)], vectors, checkpoint=checkpoint)
    steps: list[Step] = []

    again = fit_ranker(PLAN, [Part(examples)], vectors, checkpoint=checkpoint, on_step=steps.append)

    assert not steps
    assert again.steps == first.steps
    assert equal(again.model, first.model)


def test_the_checkpoint_of_another_training_is_refused(
    examples: list[Example],
    vectors: SpelledVectors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", float("inf"))
    checkpoint = tmp_path / "model.checkpoint"

    def interrupt(step: Step) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_ranker(PLAN, [Part(examples)], vectors, checkpoint=checkpoint, on_step=interrupt)
    other = replace(PLAN, recipe=replace(PLAN.recipe, seed=3))

    with pytest.raises(TrainingError, match="belongs to a training with other data"):
        fit_ranker(other, [Part(examples)], vectors, checkpoint=checkpoint)
    assert checkpoint.exists()


def test_a_checkpoint_that_cannot_be_written_is_an_error(
    examples: list[Example],
    vectors: SpelledVectors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", float("inf"))

    with pytest.raises(TrainingError, match=r"cannot write .*none/m: No such file"):
        fit_ranker(PLAN, [Part(examples)], vectors, checkpoint=tmp_path / "none" / "m")


def test_a_corrupt_checkpoint_is_an_error(
    examples: list[Example], vectors: SpelledVectors, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "model.checkpoint"
    checkpoint.write_bytes(b"corrupt")

    with pytest.raises(TrainingError, match="not a checkpoint; remove it to start over"):
        fit_ranker(PLAN, [Part(examples)], vectors, checkpoint=checkpoint)


def test_the_best_epoch_can_be_kept(examples: list[Example], vectors: SpelledVectors) -> None:
    harmful = replace(PLAN.recipe, epochs=6, learning_rate=0.5)
    last = fit_ranker(Plan(PLAN.config, harmful), [Part(examples)], vectors)
    best = fit_ranker(
        Plan(PLAN.config, harmful, keeps_best=True), [Part(examples)], vectors, dev=examples
    )

    def quality(model: Ranker) -> float:
        return evaluate(TorchScorer(model, vectors), examples, measures=["MAP"]).means["MAP"]

    assert quality(best.model) >= quality(last.model)


def test_measuring_dev_changes_no_weight(examples: list[Example], vectors: SpelledVectors) -> None:
    steps: list[Step] = []
    plain = fit_ranker(PLAN, [Part(examples)], vectors, dev=examples, on_step=steps.append)
    assert all(not step.dev for step in steps)

    steps.clear()
    measuring = replace(PLAN, measures_dev=True)
    measured = fit_ranker(measuring, [Part(examples)], vectors, dev=examples, on_step=steps.append)

    assert equal(plain.model, measured.model)
    values = [step.dev["MAP"] for step in steps if step.ends_epoch]
    last = evaluate(TorchScorer(measured.model, vectors), examples).means["MAP"]
    assert (len(values), values[-1]) == (4, last)
    assert all(not step.dev for step in steps if not step.ends_epoch)
    assert measuring.describe() == PLAN.describe()  # a checkpoint of the one fits the other


def test_the_best_epoch_is_chosen_by_the_given_measure(
    examples: list[Example], vectors: SpelledVectors
) -> None:
    steps: list[Step] = []
    plan = replace(PLAN, keeps_best=True, best_by="P@1")
    assert plan.describe() != replace(PLAN, keeps_best=True).describe()

    fit_ranker(plan, [Part(examples)], vectors, dev=examples, on_step=steps.append)

    assert {name for step in steps for name in step.dev} == {"P@1"}


def test_keeping_the_best_epoch_needs_dev_examples(
    examples: list[Example], vectors: SpelledVectors
) -> None:
    with pytest.raises(TrainingError, match="needs dev examples"):
        fit_ranker(replace(PLAN, keeps_best=True), [Part(examples)], vectors)


def test_a_loss_that_is_not_finite_stops_the_training(
    examples: list[Example], vectors: SpelledVectors
) -> None:
    plan = replace(PLAN, recipe=replace(PLAN.recipe, learning_rate=1e38))

    with pytest.raises(TrainingError, match=r"the loss became (nan|inf) at step \d+ of 12; lower"):
        fit_ranker(plan, [Part(examples)], vectors)


def test_examples_without_an_answer_are_refused(
    examples: list[Example], vectors: SpelledVectors
) -> None:
    unanswered = [replace(item, labels=(False,) * 4) for item in examples]

    with pytest.raises(TrainingError, match="no question has an answer"):
        fit_ranker(PLAN, [Part(unanswered)], vectors)
    fit_ranker(PLAN, [Part([*unanswered, *examples[:2]])], vectors)


def test_examples_without_candidates_are_skipped(
    examples: list[Example], vectors: SpelledVectors
) -> None:
    empty = Example("empty", "who?", (), ())

    one = fit_ranker(PLAN, [Part([*examples, empty])], vectors)

    assert equal(one.model, fit_ranker(PLAN, [Part(examples)], vectors).model)


def test_training_stops_early_when_dev_does_not_improve(
    examples: list[Example], vectors: SpelledVectors
) -> None:
    recipe = replace(PLAN.recipe, epochs=50, learning_rate=3e-3)
    plan = Plan(PLAN.config, recipe, keeps_best=True, patience=3)

    fitted = fit_ranker(plan, [Part(examples)], vectors, dev=examples)

    # Everything is right after a few epochs, and nothing can be better than that.
    assert fitted.steps < 50 * 3
    assert evaluate(TorchScorer(fitted.model, vectors), examples).means["MAP"] == 1.0


def test_stopping_early_needs_the_best_epoch(
    examples: list[Example], vectors: SpelledVectors
) -> None:
    with pytest.raises(TrainingError, match="stopping early requires keeping the best epoch"):
        fit_ranker(replace(PLAN, patience=2), [Part(examples)], vectors)


def test_checkpoints_take_a_small_share_of_the_time(
    examples: list[Example],
    vectors: SpelledVectors,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", 1e-9)
    saved = []
    save = checkpoints.save_checkpoint

    def note(*arguments: Any, **named: Any) -> None:
        save(*arguments, **named)
        saved.append(named["done"])

    monkeypatch.setattr(fitting, "save_checkpoint", note)
    fitted = fit_ranker(PLAN, [Part(examples)], vectors, checkpoint=tmp_path / "checkpoint")

    assert saved == [1, fitted.steps]  # the second waits for its share, the last is always saved


POINTWISE = Plan(
    RankerConfig("cosinet", WIDTH), Recipe("pointwise", epochs=20, pairs_per_step=5, seed=1)
)


def test_pairs_in_batches_of_a_fixed_size_are_learned(
    examples: list[Example], vectors: SpelledVectors
) -> None:
    unanswered = replace(examples[0], id="none", labels=(False,) * len(examples[0].labels))
    pairs = sum(len(example.labels) for example in examples)

    fitted = fit_ranker(POINTWISE, [Part([*examples, unanswered])], vectors)

    assert fitted.steps == 20 * ceil(pairs / 5)  # without those of the unanswered question
    assert evaluate(TorchScorer(fitted.model, vectors), examples).means["P@1"] == 1.0


def test_each_pair_of_an_answered_question_is_an_example(examples: list[Example]) -> None:
    unanswered = replace(examples[1], labels=(False,) * len(examples[1].labels))

    part = split_pairs(Part([examples[0], unanswered], 0.5))

    pairs = list(part.examples)
    assert [pair.candidates for pair in pairs] == [(item,) for item in examples[0].candidates]
    assert [pair.labels for pair in pairs] == [(label,) for label in examples[0].labels]
    assert part.targets == [(float(label),) for label in examples[0].labels]
    assert part.weight == 0.5


@pytest.mark.parametrize(("loss", "head"), [("listwise", "none"), ("pointwise", "birnn")])
def test_a_loss_or_head_over_lists_reads_no_single_pairs(
    loss: str, head: str, examples: list[Example], vectors: SpelledVectors
) -> None:
    plan = Plan(RankerConfig("cosinet", WIDTH, head), Recipe(loss, pairs_per_step=5))

    with pytest.raises(TrainingError, match=f"{loss} with head {head} learns from whole lists"):
        fit_ranker(plan, [Part(examples)], vectors)
