import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.evaluation import learning_curve
from rejoinder.evaluation.learning_curve import LearningCurve
from rejoinder.evaluation.plots import plot_learning_curves


@dataclass(frozen=True)
class Step:
    number: int
    epoch: int
    loss: float
    ends_epoch: bool = False
    dev: Mapping[str, float] = field(default_factory=dict)


STEPS = [
    Step(1, 1, 2.0),
    Step(2, 1, 1.0, True, {"MAP": 0.5}),
    Step(3, 2, 0.5),
    Step(4, 2, 0.25, True, {"MAP": 0.625}),
]


def read(path: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert all(line.pop("seconds") >= 0 for line in lines)
    return lines


EPOCHS = [
    {"epoch": 1, "step": 2, "loss": 1.5, "dev": {"MAP": 0.5}},
    {"epoch": 2, "step": 4, "loss": 0.375, "dev": {"MAP": 0.625}},
]


def test_an_epoch_is_a_line_as_soon_as_it_ends(tmp_path: Path) -> None:
    curve = LearningCurve(tmp_path / "log.jsonl")
    for place, step in enumerate(STEPS):
        curve.add(step)
        written = read(tmp_path / "log.jsonl") if place else []
        assert written == EPOCHS[: (place + 1) // 2]


def test_a_resumed_training_continues_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first = LearningCurve(log)
    for step in STEPS:
        first.add(step)

    # The last checkpoint was after the third step: the second epoch is written again.
    resumed = LearningCurve(log)
    resumed.add(STEPS[3])

    assert read(log) == [EPOCHS[0], {**EPOCHS[1], "loss": 0.25}]
    assert resumed.epochs[1]["seconds"] >= resumed.epochs[0]["seconds"]

    # A training from the start begins a new log.
    restarted = LearningCurve(log)
    for step in STEPS[:2]:
        restarted.add(step)
    assert read(log) == EPOCHS[:1]


def test_tensorboard_reads_every_step(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    curve = LearningCurve(tensorboard=tmp_path / "events")
    for step in STEPS:
        curve.add(step)
    curve.close()

    events = EventAccumulator(str(tmp_path / "events"))
    events.Reload()
    assert sorted(events.Tags()["scalars"]) == ["dev/MAP", "loss"]
    assert [(item.step, item.value) for item in events.Scalars("loss")] == [
        *((1, 2.0), (2, 1.0), (3, 0.5), (4, 0.25))
    ]
    assert [(item.step, item.value) for item in events.Scalars("dev/MAP")] == [(2, 0.5), (4, 0.625)]


@pytest.mark.parametrize("steps", [STEPS, [Step(1, 1, 2.0, True)]])
def test_the_curve_is_drawn(steps: list[Step], tmp_path: Path) -> None:
    curve = LearningCurve(plot=tmp_path / "curve.png")
    for step in steps:
        curve.add(step)
    curve.close()

    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_curves_of_several_rows_are_drawn(tmp_path: Path) -> None:
    alone = [{"epoch": 1, "loss": 1.0, "dev": {}}]

    plot_learning_curves(tmp_path / "c.svg", {"has": [EPOCHS, EPOCHS], "other": [alone]})

    drawn = (tmp_path / "c.svg").read_text(encoding="utf-8")
    assert drawn.count("<path") > 10


def test_nothing_is_recorded_where_nothing_is_asked_for(tmp_path: Path) -> None:
    curve = LearningCurve()
    for step in STEPS:
        curve.add(step)
    curve.close()

    assert not curve.is_recorded
    assert [epoch["loss"] for epoch in curve.epochs] == [1.5, 0.375]


def test_what_cannot_be_recorded_is_said_before_the_training(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(learning_curve, "find_spec", lambda _: None)

    with pytest.raises(MissingExtraError, match="tensorboard"):
        LearningCurve(tensorboard=tmp_path)
    with pytest.raises(MissingExtraError, match="tune"):
        LearningCurve(plot=tmp_path / "p.png")


def test_a_log_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        LearningCurve(tmp_path / "nowhere" / "log.jsonl")
    (tmp_path / "soon").mkdir()
    curve = LearningCurve(tmp_path / "soon" / "log.jsonl")
    (tmp_path / "soon").rmdir()

    with pytest.raises(InputError, match="cannot write"):
        curve.add(STEPS[1])


def test_a_folder_of_events_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "events").write_text("a file", encoding="utf-8")
    curve = LearningCurve(tensorboard=tmp_path / "events")

    with pytest.raises(InputError, match="cannot write"):
        curve.add(STEPS[0])
