"""The benchmark of search engines, over a small index in a real one."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import engines, scaling
from benchmarks.corpora.pooled import Pool
from benchmarks.corpora.questions import Question
from benchmarks.corpora.trials import write_trials
from benchmarks.engines import (
    EMBEDDED,
    choose_part,
    compare_all,
    is_good,
    make_tables,
    measure,
    write_between,
)
from benchmarks.scaling import Constants

from rejoinder.index.index import Index
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import export_index
from rejoinder.retrieval.remote import RemoteIndex
from rejoinder.types import Document

PAGES = 30


def make_document(number: int) -> Document:
    sentences = (f"Page {number} was written by Ada.", f"Nobody has read page {number} yet.")
    return Document(f"page-{number}", f"Page {number}", sentences)


@pytest.fixture
def pool() -> Pool:
    golds = [f"page{number}waswrittenbyada" for number in range(PAGES)]
    questions = [
        Question(str(number), f"Who wrote page {number}?", "a", golds=frozenset([gold]))
        for number, gold in enumerate(golds)
    ]
    return Pool([make_document(number) for number in range(PAGES)], questions)


def test_a_part_has_the_answers_of_its_questions(pool: Pool) -> None:
    part = choose_part(pool, sentences=12, questions=3)

    assert [question.id for question in part.questions] == ["0", "10", "20"]
    assert sum(len(document.sentences) for document in part.documents) == 12
    assert {"page-0", "page-10", "page-20"} == {item.id for item in part.documents[:3]}
    assert [item.metadata["shelf"] for item in part.documents] == ["0", "1", "2", "3", "4", "5"]
    assert choose_part(pool, sentences=12, questions=3) == part


def test_an_engine_is_measured_beside_the_index(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "REMOVED", 3)
    options = argparse.Namespace(results=tmp_path / "engines.json", idle=False)
    part = choose_part(pool, sentences=2 * PAGES, questions=10)
    result: dict[str, Any] = {
        "documents": PAGES,
        "sentences": 2 * PAGES,
        "questions": 10,
        "engines": {},
    }
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents(part.documents)
        for name in (EMBEDDED, "qdrant"):
            measured, trials = measure(name, index, part.questions)
            write_trials(trials, engines.find_trials(options, name))
            result["engines"][name] = {**measured, "idle": False}
        compare_all(result, options)
        assert index.count().documents == PAGES

    own = result["engines"]["qdrant"]
    assert (own["leaked"], own["filtered_missed"]) == (0, 0)
    assert (own["removed"], own["deleted"]) == (3, 0)
    assert own["filtered"] > 0
    assert (own["found_100"], own["overlap"]) == (100.0, 100.0)
    assert is_good(own)
    assert not is_good({**own, "leaked": 1})
    assert not is_good({**own, "deleted": 1})
    assert not is_good({**own, "against": {**own["against"], "first": [-2.1, -4.0, 0.0]}})
    tables = make_tables(result)
    assert "| Qdrant | 100.0 % | +0.0 (+0.0 to +0.0) | " in tables, tables
    row = [line for line in tables.splitlines() if line.startswith("| Qdrant |")][1]
    exact = [f"0 of {own['filtered']} sentences", f"0 beside {own['filtered']} found"]
    assert row.endswith(f"| {' | '.join(exact)} | 0 of 3 documents |")
    result["engines"]["qdrant"]["filtered_missed"] = 7
    assert f"| 7 beside {own['filtered']} found |" in make_tables(result)


def test_what_a_filter_lets_through_is_counted(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = choose_part(pool, sentences=2 * PAGES, questions=10)
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents(part.documents)
        search = index.search
        monkeypatch.setattr(index, "search", lambda text, k, where: search(text, k))

        counts = engines.ask_with_filters(index, index, part.questions)

    assert counts["leaked"] > 0


@pytest.mark.parametrize("name", ["opensearch-light", "postgresql"])
def test_the_size_on_disk_is_what_the_engine_says(name: str, pool: Pool, tmp_path: Path) -> None:
    with engines.ENGINES[name][1]() as pattern, Index(tmp_path / "index", create=True) as index:
        index.add_documents(pool.documents)
        url = pattern.format(name="sizes")
        export_index(index, url)
        with open_retriever(url) as remote:
            assert isinstance(remote, RemoteIndex)
            size = engines.measure_bytes(remote)

    assert size is not None
    assert size > 60 * PAGES


def test_a_calculation_follows_from_its_constants(tmp_path: Path) -> None:
    own = Constants(1_000, 10.0, 2_000, 1_000, 400, exported=1_000, answered=40)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{scaling.BEGIN}old\n{scaling.END}after\n", encoding="utf-8")

    write_between(page, scaling.BEGIN, scaling.END, scaling.make_tables(own))

    lines = page.read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
    # 2 TB in shards of 40 GB; two copies of a TB of vectors in nodes of 32 GB.
    assert (
        "| 1,000,000,000 | 1,000.0 GB | 10,000 ms | 2,000.0 GB | 50 | 2,000.0 GB | 63 | 277.8 |"
        " 400.0 GB |"
    ) in lines
    assert "| 100 | 3 |" in lines


def test_constants_are_those_of_the_results(tmp_path: Path) -> None:
    for name in ("scale", "vector_search", "open_corpus"):
        (tmp_path / f"{name}.json").symlink_to(scaling.RESULTS / f"{name}.json")
    engine = {"bytes_per_sentence": 2_000.0, "load_seconds": 50.0}
    result = {"sentences": 50_000, "engines": {"opensearch": engine}}
    (tmp_path / "engines.json").write_text(json.dumps(result), encoding="utf-8")

    own = scaling.read_constants(tmp_path)

    assert (own.engine_bytes, own.exported) == (2_000.0, 1_000.0)
    assert all(value > 0 for value in own)


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no engine 'sphinx'"):
        engines.read_names("qdrant,sphinx")
