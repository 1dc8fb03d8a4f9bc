import json
from pathlib import Path

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from tests.training.context import make_examples, make_run  # noqa: E402
from tests.training.selectors import VOCABULARY, make_selector  # noqa: E402

from rejoinder.cli import main  # noqa: E402
from rejoinder.datasets.readers.jsonl import write_examples  # noqa: E402
from rejoinder.models.selector.export import write_selector  # noqa: E402
from rejoinder.papers import context_data, context_latency, context_training  # noqa: E402
from rejoinder.papers.context_rows import ROWS  # noqa: E402
from rejoinder.papers.context_runs import Run  # noqa: E402
from rejoinder.papers.context_table import summarise  # noqa: E402
from rejoinder.training import fit as fitting  # noqa: E402
from rejoinder.training.loop import Step  # noqa: E402

ROWS_TRIED = "shipped,none,ensemble,stored,cosinet,cosinet/context"


def test_a_gain_is_held_against_the_same_seeds_of_no_context() -> None:
    runs = [make_run("none", 0, 0, 1, 0, 1), make_run("none", 1, 1, 1, 1, 1)]
    runs += [make_run("local", 0, 1, 1, 0, 1)]

    none, local = summarise(ROWS[1:3], runs)

    assert none.means["P@1"] == 75.0  # 50 and 100
    assert none.deviations["P@1"] == pytest.approx(50 / 2**0.5)
    assert none.gain is None
    assert local.gain is not None
    assert local.gain.mean == pytest.approx(0.25)  # 75 - 50, seed 0 alone
    assert 0 <= local.gain.interval.low <= 0.25 <= local.gain.interval.high


def test_a_training_that_was_stopped_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    start = tmp_path / "start"
    write_selector(start, make_selector(), VOCABULARY, training={}, scores={}, sample=[])
    monkeypatch.setattr(context_training, "START", str(start))
    examples = make_examples() * 4  # three steps of eight questions
    data = context_data.Data(examples, {"pages": examples[:2]}, [])
    seen: list[int] = []

    def go_on(stop_at: int | None) -> list[Run]:
        def note(_: str, __: int, step: Step) -> None:
            seen.append(step.number)
            if step.number == stop_at:
                raise KeyboardInterrupt

        runs = context_training.run_rows(
            ROWS[1:2], lambda: data, seeds=1, pairs=1, to=tmp_path, on_step=note
        )
        return list(runs)

    with pytest.raises(KeyboardInterrupt):
        go_on(2)
    (found,) = go_on(None)

    assert seen == [1, 2, 3]
    assert len(found.values["pages"]["P@1"]) == 2
    assert not list(tmp_path.glob("*.checkpoint"))


def test_the_tables_are_reproduced_on_a_fixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, data = tmp_path / "start", tmp_path / "pages.jsonl"
    write_selector(start, make_selector(), VOCABULARY, training={}, scores={}, sample=[])
    write_examples(data, make_examples())
    for module in (context_training, context_latency):
        monkeypatch.setattr(module, "START", str(start))
    monkeypatch.setattr(context_latency, "SIMILARITIES", ("ngrams", "static"))
    monkeypatch.setattr(context_latency, "EQUAL_LENGTH", 64)
    monkeypatch.setattr(context_data, "LEAST_SENTENCES", 20)
    monkeypatch.setattr(context_data, "TRAIN", ((str(data), None),))
    monkeypatch.setattr(context_data, "SETS", ((str(data), None), ("asnq", "dev")))
    monkeypatch.setattr(context_data, "LISTS", (str(data), None))
    runs = tmp_path / "runs.jsonl"
    arguments = [
        "reproduce",
        "context",
        "--data",
        str(tmp_path),
        "--models",
        ROWS_TRIED,
    ]
    arguments += ["--seeds", "2", "--pairs", "12", "--runs", str(runs), "--to", str(tmp_path / "b")]

    result = CliRunner().invoke(main, arguments)
    trained = {path: path.stat().st_mtime_ns for path in (tmp_path / "b").glob("*/model.onnx")}
    first = runs.read_text()
    runs.unlink()
    again = CliRunner().invoke(main, [*arguments, "--json"])

    assert result.exit_code == 0, result.output
    assert "left out: asnq" in result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[0] for line in lines if line][2:8] == ROWS_TRIED.split(",")
    assert len(runs.read_text().splitlines()) == 7  # two of none, one of each other
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [
        *("cosinet-0", "cosinet-context-0", "ensemble-0", "global-0", "local-0"),
        *("none-0", "none-1", "stored-0"),
    ]
    # Without the runs, selectors that were kept are tested again, not trained again.
    assert trained == {path: path.stat().st_mtime_ns for path in trained}
    assert runs.read_text() == first
    found = json.loads(again.stdout)
    assert [item["row"] for item in found["quality"]] == ROWS_TRIED.split(",")
    assert found["quality"][0]["questions"] == 6
    assert [item["row"] for item in found["latency"]] == [
        *("none", "shipped", "ensemble", "stored")
    ]
    assert all(item["natural_ms"] > 0 for item in found["latency"])
    assert [item["similarity"] for item in found["construction"]] == ["ngrams", "static"]
    none, other = found["verdict"][1:3]
    assert none == {
        **{"row": "none", "seeds": 2, "questions": 6, "keep": 20},
        **{"precision": none["precision"], "gain": None},
    }
    low, high = other["gain"]["interval"].values()
    assert low <= other["gain"]["mean"] <= high
