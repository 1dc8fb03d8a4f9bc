"""The benchmark of the server with several clients, in a small form."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import clients
from benchmarks.clients import Setting, compare, format_table, make_setting, parse_setting
from benchmarks.manuals.readers import ROOT

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/smaps_rollup").exists(), reason="memory is read from Linux's /proc"
)
SENTENCES = [f"Ada built tower {number}." for number in range(120)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a small corpus."""
    folder = tmp_path_factory.mktemp("clients")
    documents = [{"id": "a", "title": "Towers", "sentences": SENTENCES, "text": None}]
    lines = "".join(f"{json.dumps(document)}\n" for document in documents)
    (folder / "pooled.jsonl").write_text(lines, encoding="utf-8")
    questions = ["Who built tower 7?", "Who built tower 8?", "Who built tower 9?"]
    (folder / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    return folder


def test_both_trees_are_measured_with_each_setting_and_number_of_clients(folder: Path) -> None:
    options = argparse.Namespace(
        clients=[1, 2], seconds=0.2, rounds=1, setting=[Setting(1, 2), Setting(2, 1)]
    )

    rows = compare({"this": ROOT, "other": ROOT}, folder, options)

    named = {
        (row["request"], row["clients"], row["workers"], row["threads"], row["tree"])
        for row in rows
    }
    assert len(named) == len(rows) == 2 * 2 * 2 * 2
    assert all(row["requests_per_second"] > 0 and row["errors"] == {} for row in rows)
    assert all(row["p50_ms"] <= row["p99_ms"] for row in rows)
    assert all(row["memory_mb"] > 10 for row in rows)
    assert any(row["cpu_ms"] > 0 for row in rows)  # the system counts it in steps of 10 ms
    table = format_table(rows).splitlines()
    assert len(table) == 2 + len(rows) // 2
    assert table[2].startswith("| answer | 1 | 1 | 2 |")


def test_each_request_has_other_sentences(folder: Path) -> None:
    requests = clients.read_requests(folder)

    assert requests["answer"].bodies[1] == {"question": "Who built tower 8?"}
    first, second = (body["documents"] for body in requests["rerank"].bodies)
    assert len(first) == len(second) == clients.SENTENCES
    assert not set(first) & set(second)


def test_a_setting_decides_how_many_cores_a_process_uses(tmp_path: Path) -> None:
    code = "from rejoinder.models.parallel import count_cores; print(count_cores())"

    found = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        env=make_setting(ROOT, tmp_path, 7),
    )

    assert found.stdout.strip() == b"7"


def test_a_setting_is_read_and_a_wrong_one_refused() -> None:
    assert parse_setting("2x1") == Setting(workers=2, threads=1)
    with pytest.raises(ValueError, match="0x1"):
        parse_setting("0x1")


def test_the_ratio_is_that_of_this_tree_to_the_other() -> None:
    shared = {"request": "answer", "clients": 4, "workers": 1, "threads": 2, "memory_mb": 100.0}
    figures = {"p50_ms": 1.0, "p99_ms": 2.0, "cpu_ms": 3.0, "errors": {}}
    rows = [
        {"tree": tree, "requests_per_second": rate, **shared, **figures}
        for tree, rate in (("this", 30.0), ("other", 20.0))
    ]

    line = format_table(rows).splitlines()[-1]

    assert line == "| answer | 4 | 1 | 2 | 30.0 | 1.0 | 2.0 | 3.0 | 100.0 | 20.0 | 1.50 |"


def test_rounds_become_medians_and_errors_are_added() -> None:
    names = ("p50_ms", "p99_ms", "cpu_ms", "memory_mb")
    figures = {"request": "answer", "clients": 1, **dict.fromkeys(names, 1.0)}
    rounds = [
        {**figures, "requests_per_second": rate, "errors": errors}
        for rate, errors in ((10.0, {"503": 1}), (30.0, {}), (20.0, {"503": 2}))
    ]

    found = clients.summarize(rounds)

    assert (found["requests_per_second"], found["errors"]) == (20.0, {"503": 3})
