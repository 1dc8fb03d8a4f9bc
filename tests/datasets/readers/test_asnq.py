import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rejoinder.datasets.catalogue import locate, open_dataset
from rejoinder.datasets.entries import ENTRIES
from rejoinder.datasets.readers.asnq import read_asnq, read_asnq_half, read_asnq_over_pages
from rejoinder.errors import DataError

Write = Callable[[str, str], Path]
DATASETS = {dataset.name: dataset for dataset in ENTRIES}
DEV = "who?\tShe.\t4\nwho?\tHe.\t1\nwhen?\tNow.\t4\nwhere?\tHere.\t4\n"


def test_only_label_4_is_an_answer(write: Write) -> None:
    path = write("asnq.tsv", "".join(f"Who?\tSentence {label}.\t{label}\n" for label in "1234"))

    (example,) = read_asnq(path)

    assert example.labels == (False, False, False, True)
    assert [item.position for item in example.candidates] == [0, 1, 2, 3]


def test_there_is_no_label_0(write: Write) -> None:
    path = write("asnq.tsv", "Who?\tShe.\t0\n")

    with pytest.raises(DataError, match=r"asnq\.tsv:1: label must be 1, 2, 3 or 4, found '0'$"):
        list(read_asnq(path))


def test_two_lists_divide_the_questions_of_dev(write: Write) -> None:
    path = write("dev.tsv", DEV)

    first = list(read_asnq_half(path, write("unique.dev", "who?\n\nwhere? \n")))
    second = list(read_asnq_half(path, write("unique.test", "when?\n")))

    assert [example.question for example in first] == ["who?", "where?"]
    assert [example.question for example in second] == ["when?"]
    # The ids are those of the whole file.
    assert [example.id for example in (*first, *second)] == ["0", "2", "1"]


def test_a_list_of_another_release_says_how_many_questions_are_missing(write: Write) -> None:
    questions = write("unique.dev", "who?\nwhy?\nwhence?\n")

    with pytest.raises(DataError) as raised:
        list(read_asnq_half(write("dev.tsv", DEV), questions))

    message = str(raised.value)
    assert message.startswith(f"{questions}: 2 of 3 questions are not in ")
    assert "'whence?'; get the list of this release from https://" in message


def write_pages(path: Path, *rows: tuple[str, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"question_text": asked, "document_text": text}) for asked, text in rows]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def test_neighbours_are_those_of_the_page(write: Write, tmp_path: Path) -> None:
    rows = "who?\tC d.\t1\nwho?\tA b .\t4\nwho?\tElsewhere.\t1\nwhen?\tNow.\t4\n"
    path = write("dev.tsv", rows)
    pages = write_pages(tmp_path / "nq.jsonl.gz", ("who?", "<P> A b. </P> x <P> c D. </P>"))

    first, second = read_asnq_over_pages(path, pages)

    assert [item.text for item in first.candidates] == ["C d.", "A b .", "Elsewhere."]
    assert [item.position for item in first.candidates] == [1, 0, None]
    assert first.candidates[0].document is not None
    assert first.candidates[0].document.sentences == ("A b .", "C d.")
    assert first.candidates[2].document is None
    # A question without a page has no neighbours: no order is assumed.
    assert (second.candidates[0].document, second.candidates[0].position) == (None, None)
    assert first.labels == (False, True, False)


def test_pages_and_lists_are_combined(write: Write, tmp_path: Path) -> None:
    write("asnq/dev.tsv", DEV)
    write("asnq/unique.test", "when?\n")
    write_pages(tmp_path / "nq" / "v1.0-simplified_nq-dev-all.jsonl.gz", ("when?", "Now."))

    (example,) = open_dataset("asnq-pages", split="cascade-test", folder=tmp_path)

    assert (example.question, example.candidates[0].position) == ("when?", 0)


def test_the_published_file_of_asnq_plus_is_preferred(write: Write, tmp_path: Path) -> None:
    write("asnq/dev.tsv", DEV)
    made, _ = locate(DATASETS["asnq++"], "dev", [tmp_path])
    write("asnq/dev++.tsv", "who?\tShe.\t4\nwho?\tThem.\t1\n")
    published, paths = locate(DATASETS["asnq++"], "dev", [tmp_path])

    assert "made from dev.tsv" in made.note
    assert published.note == "the published file"
    assert len(next(published.read(*paths)).candidates) == 2


def test_the_default_split_holds_no_test_half() -> None:
    assert DATASETS["asnq"].default_split == "dev"
    assert "test" not in DATASETS["asnq"].splits
