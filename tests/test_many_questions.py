from pathlib import Path

from benchmarks.many_questions import compare

from rejoinder.index.index import Index
from rejoinder.types import Document


def test_the_benchmark_compares_lists_of_questions_with_one_by_one(tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents([Document("tea", text="Tea is hot. Ice is cold. Rain is wet.")])

    found = compare(tmp_path / "index", ["is tea hot?", "is ice cold?"], rounds=2)

    ways = ["one by one, one thread", "one by one, all cores"]
    http = ["HTTP, one by one", "HTTP, a list"]
    assert found["questions"] == 2
    assert list(found["milliseconds"]) == [*ways, "answer_many", *http, "ask --questions"]
    assert all(value > 0 for value in found["milliseconds"].values())
    assert list(found["times as fast"]) == [
        *(f"answer_many as {way}" for way in ways),
        "HTTP, a list as HTTP, one by one",
    ]
    parts = found["cpu_milliseconds"]
    assert 0 < parts["encode the question"] < parts["answer"]
    assert 0 < parts["search"] < parts["answer"]
    assert parts["read, a statement each"] > 0 < parts["read, one statement"]
