"""A large file is written while it is read, and whole or not at all."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rejoinder.documents.parsed import ParsedDocument
from rejoinder.index import batch, file_reader
from rejoinder.index.index import Index
from rejoinder.index.report import FileEvent
from tests.systems import KILLED_STATUSES

ROWS = 200
HELD = 20
BROKEN = "{"


@pytest.fixture(autouse=True)
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_reader, "MAX_HELD_SENTENCES", HELD)


def make_rows(about: str, *, end: str = "") -> str:
    rows = (json.dumps({"text": f"Row {number} is about {about}."}) for number in range(ROWS))
    return "\n".join(rows) + f"\n{end}"


def add(index: Index, *paths: Path) -> dict[str, FileEvent]:
    events: dict[str, FileEvent] = {}
    index.add(paths, on_event=lambda event: events.update({Path(event.path).name: event}))
    return events


def find(index: Index, question: str) -> list[str]:
    return [item.candidate.text for item in index.search(question, 3)]


def test_a_large_file_is_added_whole(
    index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold, held = file_reader._hold, list[int]()

    def spy(documents: Iterator[ParsedDocument]) -> object:
        result = hold(documents)
        held.append(result[1])
        return result

    monkeypatch.setattr(file_reader, "_hold", spy)
    (docs / "rows.jsonl").write_text(make_rows("ice"), encoding="utf-8")

    event = add(index, docs)["rows.jsonl"]

    assert (event.what, event.documents, event.sentences) == ("added", ROWS, ROWS)
    assert held == [HELD + 1], "the rest is read while it is written"
    assert find(index, "row 150")[0] == "Row 150 is about ice."
    assert index.check() == []


def test_one_large_document_is_added_whole(index: Index, docs: Path) -> None:
    text = "\n\n".join(f"Paragraph {number} is about ice." for number in range(ROWS))
    (docs / "ice.txt").write_text(text, encoding="utf-8")

    event = add(index, docs)["ice.txt"]

    assert (event.what, event.documents, event.sentences) == ("added", 1, ROWS)
    assert index.get_text(index.documents()[-1]) == text
    assert find(index, "paragraph 150")[0] == "Paragraph 150 is about ice."
    assert index.check() == []


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_a_large_file_that_breaks_in_the_middle_keeps_its_last_version(
    index: Index, docs: Path, suffix: str
) -> None:
    def write(text: str) -> None:
        raw = text.encode()
        path.write_bytes(gzip.compress(raw) if suffix.endswith(".gz") else raw)

    path = docs / f"rows{suffix}"
    write(make_rows("ice"))
    add(index, docs)
    write(make_rows("fog", end=BROKEN))
    (docs / "a.txt").write_text("Snow is very white.", encoding="utf-8")
    (docs / "z.txt").write_text("Hail is quite hard.", encoding="utf-8")

    events = add(index, docs)

    assert events[path.name].what == "skipped"
    assert events[path.name].reason == f"line {ROWS + 1} is not JSON"
    assert (events["a.txt"].what, events["z.txt"].what) == ("added", "added")
    assert find(index, "row 7 ice")[0] == "Row 7 is about ice."
    assert find(index, "fog") == []
    assert find(index, "snow hail")[:2] == ["Snow is very white.", "Hail is quite hard."]
    assert index.check() == []
    write(make_rows("fog"))
    assert add(index, docs)[path.name].what == "changed"
    assert not any("ice" in text for text in find(index, "ice"))


def test_a_broken_upload_keeps_the_earlier_one(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "spare.jsonl"
    path.write_text(make_rows("ice"), encoding="utf-8")
    assert index.add_upload("rows.jsonl", path).documents == ROWS
    path.write_text(make_rows("fog", end=BROKEN), encoding="utf-8")

    event = index.add_upload("rows.jsonl", path)

    assert (event.what, event.reason) == ("skipped", f"line {ROWS + 1} is not JSON")
    assert find(index, "row 7 ice")[0] == "Row 7 is about ice."
    assert index.check() == []


KILLED = """
import os, sys
from pathlib import Path
from rejoinder.index import batch, file_reader
from rejoinder.index.index import Index

def kill(done, total):
    if total // 2 < done < total:
        os.kill(os.getpid(), 9)

file_reader.MAX_HELD_SENTENCES, batch.MAX_BATCH_SECONDS = 20, 0
with Index(Path(sys.argv[1])) as index:
    index.add([Path(sys.argv[2])], on_progress=kill)
"""


def test_a_kill_in_the_middle_of_a_large_file_loses_nothing(index: Index, docs: Path) -> None:
    path = docs / "rows.jsonl"
    path.write_text(make_rows("ice"), encoding="utf-8")
    add(index, docs)
    before = index.count()
    path.write_text(make_rows("fog"), encoding="utf-8")

    result = subprocess.run(
        [sys.executable, "-c", KILLED, str(index.folder), str(docs)], check=False
    )

    assert result.returncode in KILLED_STATUSES
    with Index(index.folder) as again:
        assert again.count() == before
        assert again.check() == []
        assert find(again, "row 7 ice")[0] == "Row 7 is about ice."
        assert find(again, "fog") == []
        assert add(again, docs)["rows.jsonl"].what == "changed"
        assert find(again, "row 7 fog")[0] == "Row 7 is about fog."


@pytest.mark.parametrize("seconds", [0, 60])
def test_progress_never_goes_back_and_ends_at_the_total(
    index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    monkeypatch.setattr(batch, "MAX_BATCH_SECONDS", seconds)
    (docs / "rows.jsonl").write_text(make_rows("ice"), encoding="utf-8")
    (docs / "page.html.gz").write_bytes(gzip.compress(b"<p>Fog is very thick.</p>" * 500))
    (docs / "bad.pdf").write_bytes(b"nothing")
    total = sum(path.stat().st_size for path in docs.iterdir())
    seen: list[tuple[int, int]] = []

    index.add([docs], on_progress=lambda done, of: seen.append((done, of)))

    done = [number for number, _ in seen]
    assert {of for _, of in seen} == {total}
    assert done == sorted(done)
    assert done[-1] == total
    if not seconds:
        rows = (docs / "rows.jsonl").stat().st_size
        assert len({number for number in done if total - rows < number < total}) > ROWS // 2
