"""The benchmark of two nodes, over a small index in real ones."""

import argparse
from pathlib import Path
from typing import Any

import pytest
from benchmarks.engine_cluster import (
    BEGIN,
    END,
    INTRODUCTION,
    ask_and_kill,
    is_good,
    make_table,
    measure,
)
from benchmarks.engines import write_between
from benchmarks.manuals.readers import ROOT

from rejoinder.cascade.loading import load
from rejoinder.engine.engine import Engine
from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.retrieval import Retriever
from rejoinder.types import Document, ScoredCandidate

PAGES = 40


@pytest.fixture
def index(tmp_path: Path) -> Index:
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents(
            Document(f"page-{at}", f"Page {at}", (f"Page {at} was written by Ada.", "It is long."))
            for at in range(PAGES)
        )
    return Index(tmp_path / "index")


def test_two_peers_of_qdrant_are_measured_while_one_is_killed(index: Index, tmp_path: Path) -> None:
    options = argparse.Namespace(seconds=2.0, clients=2, heap=0)
    with index:
        questions = [f"Who wrote page {at}?" for at in range(0, PAGES, 8)]
        measured = measure("qdrant", index, questions, options)

    killed = measured["killed"]
    assert (killed["failed"], killed["wrong"]) == (0, 0), killed["examples"]
    assert killed["asked"] >= killed["after_the_kill"] > 2
    assert measured["settled_seconds"] >= measured["export_seconds"] > 0
    assert not is_good({**measured, "killed": {**killed, "failed": 1}})
    assert not is_good({**measured, "killed": {**killed, "wrong": 1}})
    assert not is_good({**measured, "retrieval": {"p50_ms": 40.1}})

    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}{END}after\n", encoding="utf-8")
    result = {"sentences": 2 * PAGES, "engines": {"qdrant": {**measured, "idle": False}}}
    write_between(page, BEGIN, END, INTRODUCTION + make_table(result))
    text = page.read_text(encoding="utf-8")
    assert "80 sentences; times are those of a machine with other work" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| Qdrant |")]
    assert row.count("|") == 10
    assert " | 0 | 0 | " in row


class FailsOnce(Retriever):
    """Finds nothing the first time."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._has_failed = False

    def search(self, question: str, k: int, **options: Any) -> list[ScoredCandidate]:
        if not self._has_failed:
            self._has_failed = True
            raise StoreError("it is gone")
        return self._index.search(question, k, **options)


def test_failed_and_wrong_answers_are_counted(index: Index) -> None:
    options = argparse.Namespace(seconds=0.5, clients=1)
    with index:
        engine = Engine(None, load("bm25"), retriever=FailsOnce(index))
        killed = ask_and_kill(engine, lambda: None, {"Who wrote page 3?": {"Nobody."}}, options)

    assert killed["failed"] == 1
    assert killed["wrong"] == killed["asked"] - 1 > 0
    assert killed["examples"][0] == "it is gone"


def test_the_page_has_the_marks() -> None:
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    assert page.index(BEGIN) < page.index(END)
