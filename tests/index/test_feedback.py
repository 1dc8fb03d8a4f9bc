import subprocess
import sys
from pathlib import Path

import pytest

from rejoinder.errors import InputError, StoreError
from rejoinder.index import feedback
from rejoinder.index.feedback import add_marks, remove_mark
from rejoinder.index.index import Index
from rejoinder.storage.files import lock_folder
from rejoinder.types import Mark
from tests.index.conftest import CODE, GUIDE
from tests.systems import KILLED_STATUSES

HOT = Mark("is tea hot?", "Tea is always hot.", True)
MILK = Mark("is tea hot?", "Milk will spoil it.", False)


def get_marks(index: Index) -> list[Mark]:
    return [stored.mark for stored in feedback.get_marks(index.store)]


def test_marks_are_kept_in_the_order_of_marking(index: Index) -> None:
    assert add_marks(index.store, [MILK, HOT]) == []

    with Index(index.folder) as again:
        assert get_marks(again) == [MILK, HOT]


def test_the_last_mark_of_a_question_and_sentence_counts(index: Index) -> None:
    add_marks(index.store, [HOT, MILK])
    add_marks(index.store, [Mark("is  tea\nhot? ", " Tea is\talways hot.", False)])

    assert get_marks(index) == [MILK, Mark("is tea hot?", "Tea is always hot.", False)]


def test_marks_of_unknown_sentences_are_returned(index: Index) -> None:
    unknown = Mark("is tea hot?", "Tea is always  warm.", True)
    heading = Mark("is tea hot?", "Green tea", True)

    assert add_marks(index.store, [unknown, HOT, heading]) == [unknown, heading]
    assert get_marks(index) == [HOT]


@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        (Mark(" ", "Tea is always hot.", True), "the question is empty"),
        (Mark("is tea hot?", "\n", True), "the sentence is empty"),
        (Mark("is tea \udc80?", "Tea is always hot.", True), "the question is not text"),
    ],
)
def test_invalid_text_is_refused_and_nothing_is_stored(
    index: Index, mark: Mark, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        add_marks(index.store, [HOT, mark])

    assert get_marks(index) == []


def test_a_mark_can_be_removed(index: Index) -> None:
    add_marks(index.store, [HOT, MILK])

    remove_mark(index.store, " is tea hot?", "Tea is always hot.")

    assert get_marks(index) == [MILK]
    with pytest.raises(InputError, match=r"'Tea is always hot.' is not marked for 'is tea hot\?'"):
        remove_mark(index.store, "is tea hot?", "Tea is always hot.")


def test_a_mark_is_ignored_while_its_sentence_is_gone(index: Index, docs: Path) -> None:
    add_marks(index.store, [HOT, MILK])
    tea = docs / "tea.md"
    before = tea.read_text(encoding="utf-8")

    tea.write_text("Tea is always cold. Milk will spoil it.", encoding="utf-8")
    index.add([docs])
    assert get_marks(index) == [MILK]

    tea.write_text(before, encoding="utf-8")
    index.add([docs])
    assert get_marks(index) == [HOT, MILK]


def test_a_mark_follows_its_sentence_to_another_document(index: Index, docs: Path) -> None:
    add_marks(index.store, [HOT])

    (docs / "tea.md").rename(docs / "moved.md")
    index.add([docs])

    (stored,) = feedback.get_marks(index.store)
    (document,) = index.store.find_documents("id", [stored.document])
    assert document.name == str(docs / "moved.md")
    assert stored.position == 1


def test_a_sentence_with_code_is_marked_by_its_lines_or_on_one_line(
    index: Index, docs: Path
) -> None:
    (docs / "guide.md").write_text(GUIDE, encoding="utf-8")
    index.add([docs])
    line = " ".join(CODE.split())

    assert add_marks(index.store, [Mark("how?", CODE, True), Mark("why?", line, False)]) == []
    assert get_marks(index) == [Mark("how?", line, True), Mark("why?", line, False)]

    index.compact()
    assert len(get_marks(index)) == 2
    remove_mark(index.store, "how?", CODE)
    assert get_marks(index) == [Mark("why?", line, False)]
    (stored,) = feedback.get_marks(index.store)
    candidate = index.get_candidate(stored.document, stored.position)
    assert candidate
    assert candidate.text == CODE


def test_compaction_drops_marks_of_removed_text(index: Index, docs: Path) -> None:
    (docs / "secret.txt").write_text("Hydrochlorothiazide is a medicine.", encoding="utf-8")
    index.add([docs])
    add_marks(index.store, [HOT, Mark("what?", "Hydrochlorothiazide is a medicine.", True)])
    index.remove([docs / "secret.txt"])

    index.compact()

    kept = b"".join(path.read_bytes() for path in index.folder.rglob("*") if path.is_file())
    assert b"ydrochlorothiazid" not in kept
    assert get_marks(index) == [HOT]
    assert index.check() == []


def test_marking_does_not_wait_for_a_writer(index: Index) -> None:
    with lock_folder(index.folder), Index(index.folder) as other:
        add_marks(other.store, [HOT])

    assert get_marks(index) == [HOT]


def test_marks_leave_the_full_text_index_alone(index: Index) -> None:
    generation = index.store.generation
    add_marks(index.store, [HOT])

    assert index.store.generation == generation


def test_a_mark_on_a_read_only_disk_is_refused(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = index.folder
    index.close()
    monkeypatch.setattr("os.access", lambda path, mode: False)

    with Index(folder) as reader, pytest.raises(StoreError, match="readonly"):
        add_marks(reader.store, [HOT])


def test_an_acknowledged_mark_survives_a_kill(index: Index) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from rejoinder.index.feedback import add_marks; from rejoinder.index.index import Index\n"
        "from rejoinder.types import Mark\n"
        "index = Index(Path(sys.argv[1]))\n"
        "add_marks(index.store, [Mark('is tea hot?', 'Tea is always hot.', True)])\n"
        "os.kill(os.getpid(), 9)"
    )

    result = subprocess.run([sys.executable, "-c", code, str(index.folder)], check=False)

    assert result.returncode in KILLED_STATUSES
    with Index(index.folder) as again:
        assert get_marks(again) == [HOT]
