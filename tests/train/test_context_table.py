import json
from pathlib import Path

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from rejoinder.cli import main  # noqa: E402
from rejoinder.data.jsonl import write_examples  # noqa: E402
from rejoinder.errors import InputError, UnknownNameError  # noqa: E402
from rejoinder.records import Candidate, Document, Example  # noqa: E402
from rejoinder.train import context_latency, context_table  # noqa: E402
from rejoinder.train.context_table import (  # noqa: E402
    BASE,
    ROWS,
    Run,
    append_run,
    choose_rows,
    read_runs,
    spread,
    summarise,
)
from rejoinder.train.export_selector import write_selector  # noqa: E402
from tests.train.selectors import VOCABULARY, WORDS, make_selector  # noqa: E402

ROWS_TRIED = "none,ensemble,stored,cosinet,cosinet/context"


def a_run(row: str, seed: int, *rights: float) -> Run:
    values = {name: list(rights) for name in ("P@1", "MAP", "MRR")}
    return Run(row, seed, 100, 10, 1.0, "int8", {"set:dev": values}, [], [])


def make_examples() -> list[Example]:
    """Return questions over pages of 24 sentences, two candidates each."""
    found = []
    for number in range(6):
        sentences = tuple(
            f"the {WORDS[(number + place) % len(WORDS)]} is {WORDS[place]}" for place in range(24)
        )
        document = Document(f"page {number}", f"page {number}", sentences)
        candidates = tuple(
            Candidate(f"{number}-{place}", sentences[place], document, place) for place in (3, 4)
        )
        word = WORDS[(number + 3) % len(WORDS)]
        found.append(Example(str(number), f"where is the {word}?", candidates, (True, False)))
    return found


def test_rows_are_chosen_by_name() -> None:
    assert choose_rows([]) == list(ROWS)
    assert [row.name for row in choose_rows(["multi-way", "none"])] == ["none", "multi-way"]
    with pytest.raises(UnknownNameError, match="unknown row of context 'multiway'"):
        choose_rows(["multiway"])


def test_a_gain_is_held_against_the_same_seeds_of_no_context() -> None:
    runs = [a_run("none", 0, 0, 1, 0, 1), a_run("none", 1, 1, 1, 1, 1)]
    runs += [a_run("local", 0, 1, 1, 0, 1)]

    none, local = summarise(choose_rows(["none", "local"]), runs)

    assert none.means["P@1"] == 75.0  # 50 and 100
    assert none.deviations["P@1"] == pytest.approx(50 / 2**0.5)
    assert none.gain is None
    assert local.gain == pytest.approx(25.0)  # 75 - 50, seed 0 alone
    assert local.interval is not None
    assert 0 <= local.interval.low <= 0.25 <= local.interval.high


def test_a_cascade_sees_only_what_is_kept() -> None:
    run = Run("none", 0, 1, 1, 1.0, "int8", {}, [[False, True, True]], [[0.5, 0.7, 0.9]])

    assert [run.measure_cascade(keep) for keep in (1, 2, 3)] == [[0.0], [1.0], [1.0]]


def test_questions_are_spread_evenly() -> None:
    examples = make_examples()  # two pairs each

    assert [item.id for item in spread(examples, 6)] == ["0", "2", "5"]
    assert spread(examples, 1000) == examples
    assert len(spread(examples, 3, most=1)) == 3


def test_runs_are_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    append_run(path, a_run("none", 0, 1))

    assert read_runs(path) == [a_run("none", 0, 1)]
    path.write_text('{"other": 1}\n')
    with pytest.raises(InputError, match="not a file of runs"):
        read_runs(path)


def test_the_tables_are_reproduced_on_a_fixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, data = tmp_path / "start", tmp_path / "pages.jsonl"
    write_selector(start, make_selector(), VOCABULARY, training={}, scores={}, sample=[])
    write_examples(data, make_examples())
    for module in (context_table, context_latency):
        monkeypatch.setattr(module, "START", str(start))
    monkeypatch.setattr(context_latency, "SIMILARITIES", ("ngrams", "static"))
    monkeypatch.setattr(context_latency, "EQUAL_LENGTH", 64)
    monkeypatch.setattr(context_table, "LEAST_SENTENCES", 20)
    monkeypatch.setattr(context_table, "TRAIN", ((str(data), None),))
    monkeypatch.setattr(context_table, "SETS", ((str(data), None), ("asnq", "dev")))
    monkeypatch.setattr(context_table, "LISTS", (str(data), None))
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
    again = CliRunner().invoke(main, [*arguments, "--json"])

    assert result.exit_code == 0, result.output
    assert "left out: asnq" in result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [line[0] for line in lines if line][2:7] == ROWS_TRIED.split(",")
    assert len(runs.read_text().splitlines()) == 6  # two of none, one of each other
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == [
        *("cosinet-0", "cosinet-context-0", "ensemble-0", "none-0", "none-1", "stored-0")
    ]
    found = json.loads(again.stdout)
    assert [item["row"] for item in found["quality"]] == ROWS_TRIED.split(",")
    assert found["quality"][0]["questions"] == 6
    assert [item["row"] for item in found["latency"]] == ["none", "ensemble", "stored"]
    assert all(item["natural_ms"] > 0 for item in found["latency"])
    assert [item["similarity"] for item in found["construction"]] == ["ngrams", "static"]
    assert found["verdict"][0] == {
        **{"row": "none", "seeds": 2, "questions": 6, "keep": 20},
        "P@1": found["verdict"][0]["P@1"],
    }
    assert {"gain", "low", "high"} <= found["verdict"][1].keys()


def test_the_base_row_reads_no_context() -> None:
    assert BASE.form == "none"
    assert BASE.has_seeds
