import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rejoinder.cli.options import split_names
from rejoinder.errors import InputError, UnknownNameError
from rejoinder.papers.table import (
    OnStep,
    Reporter,
    Run,
    TableOptions,
    choose_rows,
    measure_gain,
    read_runs,
    run_rows,
    summarise,
)

pytest.importorskip("torch")

from rejoinder.training.loop import Step


@dataclass(frozen=True)
class NamedRow:
    name: str
    published: Mapping[str, float] = field(default_factory=dict)
    is_seeded: bool = True


ROWS = [NamedRow(name) for name in ("has", "has-128", "cosinet/rnn", "cosinet/birnn")]


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ("", ["has", "has-128", "cosinet/rnn", "cosinet/birnn"]),
        ("has", ["has"]),
        ("has-", ["has-128"]),
        ("cosinet", ["cosinet/rnn", "cosinet/birnn"]),
        ("cosinet/birnn, has", ["has", "cosinet/birnn"]),
    ],
)
def test_a_name_selects_its_row_and_a_prefix_all_rows_that_begin_with_it(
    models: str, expected: list[str]
) -> None:
    assert [row.name for row in choose_rows(ROWS, split_names(models), of="a table")] == expected


def test_an_unknown_row_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown row of a table 'cosine/'"):
        choose_rows(ROWS, ["has", "cosine/"], of="a table")


def make_run(row: str, seed: int, *values: float) -> Run:
    return Run("mine", row, seed, {"MAP": list(values)}, 10, 2.0 + seed)


def test_a_summary_is_the_mean_and_deviation_over_seeds() -> None:
    row = NamedRow("has", {"MAP": 75.62, "MRR": 77.13})

    summary = summarise(row, [make_run("has", 0, 0.5, 0.7), make_run("has", 1, 0.6, 0.8)])

    # 60 and 70: mean 65, deviation 10 / sqrt(2)
    assert summary.means == pytest.approx({"MAP": 65.0})
    assert summary.deviations == pytest.approx({"MAP": 10 / 2**0.5})
    assert (summary.seconds, summary.questions) == (2.5, 2)
    assert summary.to_dict()["measured"] == {"MAP": 65.0}
    assert summary.to_dict()["deviations"] == {"MAP": 7.07}
    assert summary.to_dict()["published"] == {"MAP": 75.62, "MRR": 77.13}
    assert summary.show_all(["MAP"]) == ["75.62", "65.00 ±7.07"]


def test_a_gain_is_paired_over_questions_on_seed_averages() -> None:
    runs = [make_run("none", 0, 0.2, 0.4), make_run("none", 1, 0.4, 0.6)]
    runs += [make_run("birnn", 0, 0.5, 0.7), make_run("birnn", 1, 0.5, 0.7)]

    gain = measure_gain(runs, "birnn", "none", "MAP")

    # averages (0.3, 0.5) and (0.5, 0.7)
    assert gain is not None
    assert (gain.row, gain.over) == ("birnn", "none")
    assert gain.mean == pytest.approx(0.2)
    assert (gain.interval.low, gain.interval.high) == pytest.approx((0.2, 0.2))
    assert str(gain).startswith("birnn over none +20.00 MAP (95 % +20.00 to +20.00, p ")
    assert measure_gain(runs, "birnn", "birnn", "MAP") is None
    assert measure_gain(runs, "birnn", "rnn", "MAP") is None


def get_own(_: NamedRow) -> dict[str, str]:
    return {}


def run_seeds(path: Path | None, seeds: int) -> tuple[list[Run], list[int]]:
    """Return all runs, and the seeds that were trained."""
    trained = []

    def train(row: NamedRow, seed: int, _: OnStep) -> Run:
        trained.append(seed)
        return make_run(row.name, seed, 0.5)

    options = TableOptions(seeds, runs=path)
    runs = run_rows("mine", ROWS[:1], options, Run, train, Reporter(), get_own=get_own)
    return runs, trained


def test_finished_runs_are_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    runs = [make_run("has", seed, 0.5) for seed in range(3)]

    assert run_seeds(path, 2) == (runs[:2], [0, 1])
    assert read_runs(path, Run) == runs[:2]
    assert run_seeds(path, 3) == (runs, [2])
    assert read_runs(path, Run) == runs

    path.write_text('{"other": 1}\n')
    with pytest.raises(InputError, match="not a file of runs"):
        run_seeds(path, 3)


def test_a_run_keeps_its_learning_curve(tmp_path: Path) -> None:
    def train(row: NamedRow, seed: int, on_step: OnStep) -> Run:
        if row.is_seeded:
            for number in (1, 2):
                dev = {"MAP": number / 2} if number == 2 else {}
                on_step(Step(number, 2, 1, float(number), number == 2, dev))
        return make_run(row.name, seed, 0.5)

    said: list[str] = []
    rows = [NamedRow("has"), NamedRow("shipped", is_seeded=False)]
    picture, journal = tmp_path / "curves.png", tmp_path / "runs.jsonl"

    def run(rows: list[NamedRow]) -> list[Run]:
        options = TableOptions(2, runs=journal, curves=picture)
        reporter = Reporter(said.append)
        return run_rows("mine", rows, options, Run, train, reporter, get_own=get_own)

    runs = run(rows)

    assert [(epoch["loss"], epoch["dev"]) for epoch in runs[0].curve] == [(1.5, {"MAP": 1.0})]
    assert runs[1].curve == []
    assert read_runs(journal, Run) == runs
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert said == [f"wrote {picture}"]
    with pytest.raises(InputError, match="no learning curve"):
        run(rows[1:])


def test_a_run_of_another_table_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(Run("other", "has", 0, {"MAP": [1.0]}).to_dict()) + "\n")

    assert run_seeds(path, 1) == ([make_run("has", 0, 0.5)], [0])


def test_without_a_file_nothing_is_kept() -> None:
    assert run_seeds(None, 1) == ([make_run("has", 0, 0.5)], [0])
    assert read_runs(None, Run) == []


def test_a_row_without_seeds_is_trained_once() -> None:
    rows = [NamedRow("shipped", is_seeded=False), NamedRow("has")]

    def train(row: NamedRow, seed: int, _: OnStep) -> Run:
        return make_run(row.name, seed, 0.5)

    runs = run_rows("mine", rows, TableOptions(2), Run, train, Reporter(), get_own=get_own)

    assert [(run.row, run.seed) for run in runs] == [("shipped", 0), ("has", 0), ("has", 1)]
