import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rejoinder.datasets.readers.insuranceqa_package import (
    find_insuranceqa_package,
    read_insuranceqa_package,
)
from rejoinder.errors import DataError, MissingDataError, UnknownNameError

WriteValue = Callable[[str, object], Path]

ANSWERS = {str(number): {"zh": "…", "en": f" Answer  {number}.\n"} for number in range(1, 61)}
QUESTION = {
    "zh": "…",
    "en": "What  Is   Covered?",
    "domain": "life",
    "answers": ["7", "9"],
    "negatives": [str(number) for number in range(10, 60)],
}


@pytest.fixture
def folder(write_value: WriteValue) -> Path:
    write_value("insuranceqa_data/valid.json.gz", {"4": QUESTION, "5": QUESTION})
    return write_value("insuranceqa_data/answers.json.gz", ANSWERS).parent


def test_answers_and_negatives_become_one_list(folder: Path) -> None:
    first, second = read_insuranceqa_package(folder, "valid")

    assert (first.id, second.id) == ("4", "5")
    assert first.question == "What Is Covered?"
    pairs = dict(zip(first.candidates, first.labels, strict=True))
    assert {item.id for item, label in pairs.items() if label} == {"7", "9"}
    assert {item.text for item in pairs} == {
        f"Answer {number}." for number in (7, 9, *range(10, 60))
    }
    assert {(item.document, item.position) for item in pairs} == {(None, None)}


def test_the_list_is_shuffled_by_question_and_seed(folder: Path) -> None:
    first, second = read_insuranceqa_package(folder, "valid")
    other_seed = next(read_insuranceqa_package(folder, "valid", seed=1))

    assert not first.labels[0] or not first.labels[1]
    assert len({first.candidates, second.candidates, other_seed.candidates}) == 3
    assert next(read_insuranceqa_package(folder, "valid")) == first


def test_an_unknown_answer_is_named(folder: Path, write_value: WriteValue) -> None:
    write_value("insuranceqa_data/test.json.gz", {"0": {**QUESTION, "negatives": ["99"]}})

    with pytest.raises(
        DataError, match=r"test\.json\.gz: 0: answer '99' is not in answers\.json\.gz$"
    ):
        list(read_insuranceqa_package(folder, "test"))


def test_a_missing_text_is_named(folder: Path, write_value: WriteValue) -> None:
    write_value("insuranceqa_data/answers.json.gz", {"1": {"zh": "…"}})

    with pytest.raises(DataError, match=r"answers\.json\.gz: 1: field 'en' is missing$"):
        list(read_insuranceqa_package(folder, "valid"))


def test_an_unknown_split_is_named(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown split 'dev'; known: train, valid, test$"):
        read_insuranceqa_package(folder, "dev")


def test_the_package_is_found_without_importing_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.setattr(sys, "path", [str(folder.parent)])

    assert find_insuranceqa_package() == folder


@pytest.mark.parametrize("name", ["insuranceqa_data", "something_else"])
def test_a_package_that_is_absent_or_empty_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    with pytest.raises(MissingDataError, match=r"; pip install insuranceqa_data==1\.2$"):
        find_insuranceqa_package()
