"""The benchmark of an index that grows, in a small form."""

import argparse
import json
import sys
from pathlib import Path

import pytest
from benchmarks import growth

from rejoinder.index.index import Index

EXAMPLES = Path(__file__).parents[1] / "examples" / "docs"
SIZES = (60, 150)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the benchmark has run."""
    work = tmp_path_factory.mktemp("growth")
    run(work)
    return work


def run(work: Path) -> None:
    options = ["--work", str(work), "--sentences", *map(str, SIZES), "--results", str(work / "r")]
    few = ["--documents", "2", "--questions", "3", "--scorer", "bm25"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["growth", str(EXAMPLES), *options, *few])
        growth.main()


def test_each_size_is_reached_and_measured(work: Path) -> None:
    rows = json.loads((work / "r").read_text(encoding="utf-8"))["sizes"]

    assert [row["sentences"] >= size for row, size in zip(rows, SIZES, strict=True)] == [True] * 2
    assert rows[0]["sentences"] < rows[1]["sentences"]
    for row in rows:
        assert row["seconds"] > 0
        assert row["answer"]["p50_ms"] <= row["answer"]["p99_ms"]
        assert row["search"]["p50_ms"] > 0
        assert row["one_document"]["add"]["p50_ms"] > 0
        assert row["memory"]["own_mb"] > 0
        assert set(row["stages_p50_ms"]) == {"bm25"}


def test_the_documents_that_were_added_one_by_one_are_gone(work: Path) -> None:
    rows = json.loads((work / "r").read_text(encoding="utf-8"))["sizes"]

    with Index(work / "index") as index:
        assert index.count().sentences == rows[-1]["sentences"]


def test_a_size_that_was_measured_is_not_measured_again(work: Path) -> None:
    journal = (work / "growth.jsonl").read_bytes()
    results = (work / "r").read_bytes()

    run(work)

    assert (work / "growth.jsonl").read_bytes() == journal
    assert (work / "r").read_bytes() == results


def test_a_part_that_was_interrupted_is_added_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A run ended after the first part was in the index, and before its line was in the journal.
    options = argparse.Namespace(work=tmp_path, folders=[EXAMPLES])
    growth.Growth(options)._grow(SIZES[0])
    (tmp_path / "growth.jsonl").unlink()
    with Index(tmp_path / "index") as index:
        before = index.count()

    parts = growth.Growth(options)._grow(SIZES[0])

    with Index(tmp_path / "index") as index:
        assert index.count() == before
    assert sum(part["sentences"] for part in parts) >= SIZES[0]
    assert "part 0: 0 sentences" in capsys.readouterr().err


def test_the_last_row_of_the_table_is_the_growth() -> None:
    def make(factor: int) -> dict[str, object]:
        times = {"p50_ms": 2.0 * factor, "p95_ms": 3.0 * factor, "p99_ms": 4.0 * factor}
        return {
            "sentences": 1_000 * factor,
            "seconds": 10.0 * factor,
            "size_mb": {"vectors": 1.0 * factor, "fulltext": 2.0 * factor},
            "memory": {"own_mb": 100.0, "mapped_mb": 5.0 * factor},
            "search": times,
            "answer": times,
            "one_document": {"add": {"p50_ms": 7.0, "p95_ms": 8.0}},
        }

    lines = growth.format_table([make(1), make(3)]).splitlines()

    assert lines[2].startswith("| 1,000 | 10 | 3 | 100 | 5 | 2 | 4 |")
    assert lines[-1] == (
        "| ×3.0 | ×3.0 | ×3.0 | ×1.0 | ×3.0 | ×3.0 | ×3.0 | ×3.0 | ×3.0 | ×1.0 | ×1.0 |"
    )
