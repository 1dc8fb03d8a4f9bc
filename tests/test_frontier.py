"""The benchmark of accuracy against time."""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks import frontier
from benchmarks.corpora.contenders import Setting
from benchmarks.corpora.questions import Question
from benchmarks.frontier import BEGIN, END, ROWS, measure, summarize, write_page

from rejoinder.index.index import Index
from rejoinder.types import Document

QUESTION = Question("1", "Who built the tower?", "a", golds=frozenset(["adabuiltthetower"]))


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    with Index(tmp_path / "index", create=True) as index:
        sentences = ("Ada built the tower.", "The tower is old.", "It is very high.")
        index.add_documents([Document("tower", "Tower", sentences)])
        yield Setting("pooled", index, tmp_path, argparse.Namespace(cache=tmp_path))


@pytest.mark.parametrize("name", ["ours", "ours-all", "ours-1", "ours-30", "thorough"])
def test_our_rows_answer(setting: Setting, name: str) -> None:
    (reply,) = measure(ROWS[name].make(setting), [QUESTION])

    assert reply["is_right"]
    assert reply["ms"] > 0
    assert reply["group"] == "a"


def test_every_budget_and_both_cascades_without_stops_are_rows() -> None:
    ours = [name for name, row in ROWS.items() if row.module == "rejoinder" and not row.needs]

    budgets = [f"ours-{budget}" for budget in frontier.BUDGETS]
    assert ours == ["ours", "ours-all", *budgets, "thorough", "thorough-all"]
    assert {1, 2} < set(frontier.BUDGETS)


def test_others_are_compared_with_ours_in_pairs() -> None:
    def reply(is_right: bool, ms: float) -> dict[str, object]:
        return {"group": "a", "is_right": is_right, "ms": ms}

    rows = summarize(
        {
            "ours": [reply(True, 10.0), reply(True, 20.0)],
            "bm25": [reply(True, 5.0), reply(False, 10.0)],
        }
    )

    assert rows["ours"]["first"] == 100
    assert "against_ours" not in rows["ours"]
    assert rows["bm25"]["against_ours"] == {
        "points": -50.0,
        "interval": [-100.0, 0.0],
        "times_as_long": 0.5,
    }


def test_the_page_gets_the_table_and_the_picture(tmp_path: Path) -> None:
    page = tmp_path / "speed.md"
    page.write_text(f"before\n{BEGIN}old\n{END}after\n", encoding="utf-8")
    row = {"first": 70.0, "interval": [65.0, 75.0], "p50_ms": 12.0, "p95_ms": 20.0}
    against = {"points": -2.0, "interval": [-4.0, 0.5], "times_as_long": 0.5}

    write_page({"rows": {"ours": row, "ours-2": row | {"against_ours": against}}}, page)

    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n![")
    assert text.endswith(f"\n{END}after\n")
    assert "old" not in text
    assert "| the same, 2 ms | 70.0 (65.0 to 75.0) | -2.0 (-4.0 to +0.5) | 12.0 | 20.0 |" in text
    assert (tmp_path / frontier.PICTURE).read_bytes().startswith(b"\x89PNG")


def test_what_is_not_there_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = argparse.Namespace(weights=tmp_path, before=None)

    assert frontier.is_there("ours", given)
    assert not frontier.is_there("int8-5", given)
    assert "int8-5: left out, without" in capsys.readouterr().err


def test_a_result_is_read_back_for_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, results = tmp_path / "speed.md", tmp_path / "frontier.json"
    page.write_text(BEGIN + END, encoding="utf-8")
    row = {"first": 70.0, "interval": [65.0, 75.0], "p50_ms": 12.0, "p95_ms": 20.0}
    results.write_text(json.dumps({"rows": {"ours": row}}), encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["frontier", "--page", str(page), "--results", str(results)])

    frontier.main()

    assert "70.0 (65.0 to 75.0)" in page.read_text(encoding="utf-8")
