"""The benchmark of searches on one thread and on several, in a small form."""

import json
import sys
from pathlib import Path

import pytest
from benchmarks import search_threads

from rejoinder.index import index as index_module
from rejoinder.index.index import Index
from rejoinder.types import Document


def test_both_ways_are_measured_and_the_limit_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents([Document("a", "Tea", ("Tea is hot.", "How are files removed?"))])
    limit = index_module.BESIDE
    options = ["--rows", "5000", "--questions", "6", "--index", str(tmp_path / "index")]
    monkeypatch.setattr(sys, "argv", ["search_threads", *options])

    search_threads.main()

    result = json.loads(capsys.readouterr().out)
    assert set(result["first_pass"]["5000"]) == {"whole", "divided"}
    assert result["index"].pop("sentences") == 2
    assert set(result["index"]) == {"one after the other", "beside", "words", "meaning"}
    for figures in (*result["first_pass"]["5000"].values(), *result["index"].values()):
        assert 0 < figures["p10_ms"] <= figures["p50_ms"]
    assert limit == index_module.BESIDE


def test_ways_that_find_something_else_end_the_benchmark() -> None:
    with pytest.raises(AssertionError, match="7"):
        search_threads.compare({"one": str, "other": repr, "wrong": lambda _: "8"}, [7])
