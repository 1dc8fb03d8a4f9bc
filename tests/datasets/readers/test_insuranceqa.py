import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rejoinder.datasets.catalogue import open_dataset
from rejoinder.datasets.readers.insuranceqa import (
    find_insuranceqa_package,
    read_insuranceqa_package,
)
from rejoinder.errors import DataError, MissingDataError, UnknownNameError
from rejoinder.types import Example

Write = Callable[[str, str], Path]

VOCABULARY = "idx_1\twhat\nidx_2\tcosts\nidx_3\tmuch\nidx_4\tlittle\nidx_5\t?\n"
ANSWERS = "1\tidx_3 idx_3\n2\tidx_4\n3\tidx_2 idx_4\n"
V1, V2 = "insuranceqa/V1", "insuranceqa/V2"


@pytest.fixture
def folder(write: Write, tmp_path: Path) -> Path:
    write(f"{V1}/vocabulary", VOCABULARY)
    write(f"{V1}/answers.label.token_idx", ANSWERS)
    write(f"{V1}/question.train.token_idx.label", "idx_1 idx_2 idx_5\t3 1\n")
    write(f"{V1}/question.dev.label.token_idx.pool", "2\tidx_1 idx_5\t1 2 3\n1\tidx_2\t3 2\n")
    write(f"{V1}/question.test1.label.token_idx.pool", "9\tidx_1\t1\n")
    write(f"{V2}/vocabulary", VOCABULARY)
    write(f"{V2}/InsuranceQA.label2answer.token.encoded.gz", ANSWERS)
    name = "InsuranceQA.question.anslabel.token.500.pool.solr.valid.encoded.gz"
    write(f"{V2}/{name}", "life\tidx_1 idx_5\t2 1\t3 1\n")
    return tmp_path


def read(folder: Path, version: str, split: str) -> Iterator[Example]:
    name = f"insuranceqa-{version[-2:].lower()}"
    return open_dataset(name, split=split, folder=folder)


def test_a_pool_is_read_in_its_order_and_decoded(folder: Path) -> None:
    first, _ = read(folder, V1, "dev")

    assert (first.id, first.question) == ("0", "what ?")
    assert [(item.id, item.text) for item in first.candidates] == [
        ("1", "much much"),
        ("2", "little"),
        ("3", "costs little"),
    ]
    assert first.labels == (False, True, False)
    assert {(item.document, item.position) for item in first.candidates} == {(None, None)}


def test_a_pool_without_the_correct_answer_is_kept(folder: Path) -> None:
    _, second = read(folder, V1, "dev")

    assert (second.id, second.labels) == ("1", (False, False))


def test_training_questions_of_v1_have_their_answers_only(folder: Path) -> None:
    (example,) = read(folder, V1, "train")

    assert example.question == "what costs ?"
    assert [item.id for item in example.candidates] == ["3", "1"]
    assert example.labels == (True, True)


def test_v2_is_compressed_and_has_a_domain(folder: Path) -> None:
    (example,) = read(folder, V2, "valid")

    assert example.question == "what ?"
    assert [(item.id, item.text) for item in example.candidates] == [
        ("3", "costs little"),
        ("1", "much much"),
    ]
    assert example.labels == (False, True)


def test_an_unknown_answer_is_named(folder: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"question\.test1\S+\.pool:1: answer '9' is not in answers\.label\.token_idx$",
    ):
        list(read(folder, V1, "test1"))


def test_an_unknown_word_is_named(folder: Path, write: Write) -> None:
    path = write(f"{V1}/question.test2.label.token_idx.pool", "2\tidx_1\t2\n2\tidx_1 idx_77\t2\n")

    with pytest.raises(DataError, match=rf"{path.name}:2: word 'idx_77' is not in the vocabulary$"):
        list(read(folder, V1, "test2"))


def test_an_unknown_word_of_an_answer_is_named(folder: Path, write: Write) -> None:
    write(f"{V1}/answers.label.token_idx", ANSWERS + "4\tidx_8\n")

    with pytest.raises(DataError, match=r"token_idx:4: word 'idx_8' is not in the vocabulary$"):
        list(read(folder, V1, "dev"))


def test_a_truncated_line_is_named(folder: Path, write: Write) -> None:
    path = write(f"{V1}/question.dev.label.token_idx.pool", "2\tidx_1\n")

    with pytest.raises(DataError, match=rf"{path.name}:1: expected 3 columns, found 2$"):
        list(read(folder, V1, "dev"))


def test_an_unknown_split_is_named(folder: Path) -> None:
    with pytest.raises(
        UnknownNameError, match=r"unknown split of insuranceqa-v1 'test'; did you mean 'test\d'\?"
    ):
        list(read(folder, V1, "test"))
    with pytest.raises(UnknownNameError, match=r"v2 'dev'; known: train, valid, test$"):
        list(read(folder, V2, "dev"))


WriteValue = Callable[[str, object], Path]

PACKAGE_ANSWERS = {
    str(number): {"zh": "…", "en": f" Answer  {number}.\n"} for number in range(1, 61)
}
QUESTION = {
    "zh": "…",
    "en": "What  Is   Covered?",
    "domain": "life",
    "answers": ["7", "9"],
    "negatives": [str(number) for number in range(10, 60)],
}


@pytest.fixture
def package(write_value: WriteValue) -> Path:
    write_value("insuranceqa_data/valid.json.gz", {"4": QUESTION, "5": QUESTION})
    return write_value("insuranceqa_data/answers.json.gz", PACKAGE_ANSWERS).parent


def test_answers_and_negatives_become_one_list(package: Path) -> None:
    first, second = read_insuranceqa_package("valid", package)

    assert (first.id, second.id) == ("4", "5")
    assert first.question == "What Is Covered?"
    pairs = dict(zip(first.candidates, first.labels, strict=True))
    assert {item.id for item, label in pairs.items() if label} == {"7", "9"}
    assert {item.text for item in pairs} == {
        f"Answer {number}." for number in (7, 9, *range(10, 60))
    }
    assert {(item.document, item.position) for item in pairs} == {(None, None)}


def test_the_list_is_shuffled_by_question_and_seed(package: Path) -> None:
    first, second = read_insuranceqa_package("valid", package)
    other_seed = next(read_insuranceqa_package("valid", package, seed=1))

    assert not first.labels[0] or not first.labels[1]
    assert len({first.candidates, second.candidates, other_seed.candidates}) == 3
    assert next(read_insuranceqa_package("valid", package)) == first


def test_an_unknown_answer_of_the_package_is_named(package: Path, write_value: WriteValue) -> None:
    write_value("insuranceqa_data/test.json.gz", {"0": {**QUESTION, "negatives": ["99"]}})

    with pytest.raises(
        DataError, match=r"test\.json\.gz: 0: answer '99' is not in answers\.json\.gz$"
    ):
        list(read_insuranceqa_package("test", package))


def test_a_missing_text_is_named(package: Path, write_value: WriteValue) -> None:
    write_value("insuranceqa_data/answers.json.gz", {"1": {"zh": "…"}})

    with pytest.raises(DataError, match=r"answers\.json\.gz: 1: field 'en' is missing$"):
        list(read_insuranceqa_package("valid", package))


def test_an_unknown_split_of_the_package_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"insuranceqa 'dev'; known: train, valid, test$"):
        open_dataset("insuranceqa:dev")


def test_the_package_is_found_without_importing_it(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.setattr(sys, "path", [str(package.parent)])

    assert find_insuranceqa_package() == package


@pytest.mark.parametrize("name", ["insuranceqa_data", "something_else"])
def test_a_package_that_is_absent_or_empty_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    with pytest.raises(MissingDataError, match=r"; pip install insuranceqa_data==1\.2$"):
        find_insuranceqa_package()
