import json
import sys
from pathlib import Path

import pytest
from benchmarks import index_speed
from benchmarks.corpora.varied import SENTENCES, Corpus, Page, read_pages

EXAMPLES = Path(__file__).parents[1] / "examples" / "docs"
PAGE = Page("Tea", [(1, ["Tea"]), (0, ["Tea is hot today.", "Milk makes it cold."])])


def test_a_corpus_goes_on_with_copies_of_its_pages_in_other_words(tmp_path: Path) -> None:
    folder = Corpus([PAGE]).write(tmp_path / "text", 60)

    first, *copies = [path.read_text("utf-8") for path in sorted(folder.rglob("*.md"))]
    assert first == "# Tea\n\nTea is hot today. Milk makes it cold."
    assert len(copies) == 19
    assert len(set(copies)) > 10
    assert all(copy.startswith("# Tea\n\nTea ") and copy.endswith(" cold.") for copy in copies)


def test_another_document_holds_new_sentences(tmp_path: Path) -> None:
    corpus = Corpus([PAGE])

    one, two = (corpus.write_document(tmp_path / name).read_text("utf-8") for name in "ab")
    assert one != two
    assert len(one.split("\n\n")) == SENTENCES


def test_pages_are_read_with_their_headings_and_bad_files_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("# Tea\n\n## Green\n\nIt is hot. It is green.", "utf-8")
    (tmp_path / "bad.pdf").write_bytes(b"nothing")

    (page,) = read_pages([tmp_path / "bad.pdf", tmp_path / "tea.md"])

    assert page.blocks == [(1, ["Tea"]), (2, ["Green"]), (0, ["It is hot.", "It is green."])]


def test_the_benchmark_measures_each_size_and_writes_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, page = tmp_path / "results.json", tmp_path / "page.md"
    page.write_text(f"before\n{index_speed.BEGIN}old\n{index_speed.END}after\n", "utf-8")
    options = ["--sentences", "50", "400", "--documents", "2", "--questions", "3", "--compare"]
    places = ["--results", str(results), "--page", str(page)]
    monkeypatch.setattr(sys, "argv", ["index_speed", str(EXAMPLES), *options, *places])

    index_speed.main()

    indexes = json.loads(results.read_text("utf-8"))["indexes"]
    assert indexes[0]["sentences"] == indexes[1]["sentences"] < indexes[2]["sentences"]
    assert all(item["one_document"]["add"]["p50_ms"] > 0 for item in indexes)
    lines = page.read_text("utf-8").splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("before", "after", 10)
