"""Files of another release are recognised by their counts."""

from pathlib import Path

import pytest

from rejoinder.datasets.catalogue import DATASETS
from rejoinder.datasets.releases import open_compared, say_once
from rejoinder.papers.examples import describe_sources, open_available

YAHOO = "".join(f"what is {q}?\tit is {a} {q}\t{int(a == 0)}\n" for q in range(2) for a in range(5))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "yahooqa").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "yahooqa" / f"{split}.tsv").write_text(YAHOO, encoding="utf-8")
    return tmp_path


def test_another_release_is_named_with_the_expected_one_and_its_place(folder: Path) -> None:
    told: list[str] = []

    examples = list(open_compared("yahooqa:test", told.append, folder=folder))

    assert len(examples) == 2
    assert told == [
        "yahooqa:test: 2 questions with 10 candidates; the published file has 6,283 questions with"
        " 31,415 candidates: this is another release; to have the expected one, get the split from"
        " https://github.com/vanzytay/YahooQA_Splits, and convert it to pairs:"
        " yahooqa/{train,dev,test}.tsv (docs/datasets.md)"
    ]


def test_nothing_is_said_of_what_is_not_read_to_its_end(folder: Path) -> None:
    examples = open_compared("yahooqa", pytest.fail, split="train", folder=folder)

    assert next(examples).question == "what is 0?"


def test_a_file_has_no_release(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "question": "a?", "candidates": []}\n', encoding="utf-8")

    assert len(list(open_compared(str(path), pytest.fail))) == 1


def test_a_stream_that_is_read_twice_tells_once(folder: Path) -> None:
    told: list[str] = []
    stream = open_available("yahooqa:dev", folder, told.append)

    assert len(list(stream)) == len(list(stream)) == 2
    assert len(told) == 1
    tell = say_once(told.append)
    tell("a")
    tell("a")
    tell("b")
    assert told[1:] == ["a", "b"]


def test_training_data_of_another_release_is_named(folder: Path) -> None:
    pytest.importorskip("torch")
    from rejoinder.papers.has.tables import TABLES
    from rejoinder.papers.has.training import read_data
    from rejoinder.training.mixing import read_parts

    told: list[str] = []
    (part,) = read_parts(["yahooqa"], folder, told.append)
    for _ in range(2):
        assert len(list(part.examples)) == 2
    assert [text.partition(":")[0] for text in told] == ["yahooqa"]
    assert "yahooqa:train: 2 questions" in told[0]
    assert "has 50,112 questions" in told[0]

    (table,) = (item for item in TABLES if item.name == "yahooqa")
    told.clear()
    read_data(table, folder, say=told.append)
    assert [text.partition(": ")[0] for text in told] == [
        *("yahooqa:dev", "yahooqa:test", "yahooqa:train")
    ]


COUNTED = [
    *("asnq++:dev", "nq-la:train", "nq-la:dev", "insuranceqa-v1:train", "insuranceqa-v1:test2"),
    *("insuranceqa-v2:valid", "squad-v1:train", "squad-v2:train"),
]


@pytest.mark.parametrize("choice", COUNTED)
def test_the_size_of_what_papers_train_and_test_on_is_known(choice: str) -> None:
    name, _, part = choice.partition(":")

    assert DATASETS[name].splits[part][0].counts is not None


def test_a_caption_says_how_training_data_differ_from_the_papers(tmp_path: Path) -> None:
    (tmp_path / "asnq").mkdir()
    (tmp_path / "asnq" / "train.tsv").write_text("a?\tb\t4\n", encoding="utf-8")

    lines = describe_sources(["asnq@0.5", "asnq:train", "yahooqa"], tmp_path)

    expected = "neighbours: the order of the file is assumed to be the page's."
    assert lines == [f"Training on asnq: {expected}", f"Training on asnq:train: {expected}"]
