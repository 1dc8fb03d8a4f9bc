"""Small tables of questions for tests, and what becomes of them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rejoinder.batch.job import Executor, JobProgress, run_job, run_locally
from rejoinder.batch.packed_scorer import PackedScorer
from rejoinder.errors import InputError

WORDS = ["tea", "bees", "caves", "ice", "honey", "water", "dance", "bitter", "light", "queen"]


def make_rows(count: int, *, candidates: int = 4) -> list[dict[str, Any]]:
    """Return questions whose candidates share more or fewer words with them."""
    return [
        {
            "id": f"q{number}",
            "question": f"why do {WORDS[number % 10]} and {WORDS[number % 7]} meet?",
            "candidates": [
                {
                    "id": f"s{place}",
                    "text": f"{WORDS[(number * 3 + place) % 10]} is {WORDS[place % 10]} {number}.",
                    "document": f"d{place % 2}",
                    "position": place // 2,
                }
                for place in range(candidates)
            ],
        }
        for number in range(count)
    ]


def write_questions(path: Path, count: int, *, group: int = 1000, candidates: int = 4) -> Path:
    table = pa.Table.from_pylist(make_rows(count, candidates=candidates))
    pq.write_table(table, path, row_group_size=group)
    return path


def rank(
    source: Path, folder: Path, scorer: PackedScorer, executor: Executor = run_locally
) -> list[JobProgress]:
    """Rank a table to the end; return how it went on."""
    return list(run_job(source, folder, scorer=scorer, executor=executor))


def read_ranked(folder: Path) -> pa.Table:
    """Return the parts of a job in order, as one table."""
    return pa.concat_tables(pq.read_table(part) for part in sorted(folder.glob("part-*.parquet")))


def check_missing_bundle(executor: Executor, folder: Path) -> None:
    """Check that a worker that cannot open the scorer is named, in one line."""
    source = write_questions(folder / "in.parquet", 10)
    with pytest.raises(InputError, match=r"unknown scorer .*gone.*0 of 1 partitions") as caught:
        rank(source, folder / "out", PackedScorer(str(folder / "gone")), executor)
    assert "\n" not in str(caught.value)
