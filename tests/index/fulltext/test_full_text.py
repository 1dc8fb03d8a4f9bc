"""What a sentence is found by: its own words, its passage, its headings and its title."""

from pathlib import Path

from rejoinder.documents.passages import NEIGHBOURS
from rejoinder.index.index import Index

PLAIN = [f"Line number {number} is plain." for number in range(NEIGHBOURS)]


def find(index: Index, question: str, k: int = 9) -> list[str]:
    return [hit.candidate.text for hit in index.search(question, k)]


def test_a_sentence_is_found_by_other_blocks_of_its_section(index: Index, docs: Path) -> None:
    text = ["# Stoves", "A samovar boils water.", *PLAIN, "This one is too far away."]
    (docs / "stoves.md").write_text("\n\n".join(text), encoding="utf-8")
    index.add([docs])

    first, *others = find(index, "samovar")

    assert first == "A samovar boils water."
    assert sorted(others) == PLAIN
