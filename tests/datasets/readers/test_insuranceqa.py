from collections.abc import Callable
from pathlib import Path

import pytest

from rejoinder.datasets.readers.insuranceqa import read_insuranceqa_v1, read_insuranceqa_v2
from rejoinder.errors import DataError, UnknownNameError

Write = Callable[[str, str], Path]

VOCABULARY = "idx_1\twhat\nidx_2\tcosts\nidx_3\tmuch\nidx_4\tlittle\nidx_5\t?\n"
ANSWERS = "1\tidx_3 idx_3\n2\tidx_4\n3\tidx_2 idx_4\n"
V2 = "InsuranceQA.question.anslabel.token.500.pool.solr"


@pytest.fixture
def folder(write: Write) -> Path:
    write("vocabulary", VOCABULARY)
    write("answers.label.token_idx", ANSWERS)
    write("question.train.token_idx.label", "idx_1 idx_2 idx_5\t3 1\n")
    write("question.dev.label.token_idx.pool", "2\tidx_1 idx_5\t1 2 3\n1\tidx_2\t3 2\n")
    write("InsuranceQA.label2answer.token.encoded.gz", ANSWERS)
    write(f"{V2}.valid.encoded.gz", "life\tidx_1 idx_5\t2 1\t3 1\n")
    return write("question.test1.label.token_idx.pool", "9\tidx_1\t1\n").parent


def test_a_pool_is_read_in_its_order_and_spelt_out(folder: Path) -> None:
    first, _ = read_insuranceqa_v1(folder, "dev")

    assert (first.id, first.question) == ("0", "what ?")
    assert [(item.id, item.text) for item in first.candidates] == [
        ("1", "much much"),
        ("2", "little"),
        ("3", "costs little"),
    ]
    assert first.labels == (False, True, False)
    assert {(item.document, item.position) for item in first.candidates} == {(None, None)}


def test_a_pool_without_the_correct_answer_is_kept(folder: Path) -> None:
    _, second = read_insuranceqa_v1(folder, "dev")

    assert (second.id, second.labels) == ("1", (False, False))


def test_training_questions_of_v1_have_their_answers_only(folder: Path) -> None:
    (example,) = read_insuranceqa_v1(folder, "train")

    assert example.question == "what costs ?"
    assert [item.id for item in example.candidates] == ["3", "1"]
    assert example.labels == (True, True)


def test_v2_is_packed_and_has_a_domain(folder: Path) -> None:
    (example,) = read_insuranceqa_v2(folder, "valid")

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
        list(read_insuranceqa_v1(folder, "test1"))


def test_an_unknown_word_is_named(folder: Path, write: Write) -> None:
    path = write("question.test2.label.token_idx.pool", "2\tidx_1\t2\n2\tidx_1 idx_77\t2\n")

    with pytest.raises(DataError, match=rf"{path.name}:2: word 'idx_77' is not in vocabulary$"):
        list(read_insuranceqa_v1(folder, "test2"))


def test_an_unknown_word_of_an_answer_is_named(folder: Path, write: Write) -> None:
    write("answers.label.token_idx", ANSWERS + "4\tidx_8\n")

    with pytest.raises(DataError, match=r"token_idx:4: word 'idx_8' is not in vocabulary$"):
        list(read_insuranceqa_v1(folder, "dev"))


def test_a_torn_line_is_named(folder: Path, write: Write) -> None:
    path = write("question.dev.label.token_idx.pool", "2\tidx_1\n")

    with pytest.raises(DataError, match=rf"{path.name}:1: expected 3 columns, found 2$"):
        list(read_insuranceqa_v1(folder, "dev"))


def test_an_unknown_split_is_named(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown split 'test'; did you mean 'test\d'\?"):
        list(read_insuranceqa_v1(folder, "test"))
    with pytest.raises(UnknownNameError, match=r"unknown split 'dev'; known: train, valid, test$"):
        list(read_insuranceqa_v2(folder, "dev"))
