from collections.abc import Callable
from pathlib import Path

import pytest

from rejoinder.datasets.readers.pairs import read_pairs, read_yahooqa
from rejoinder.errors import DataError

Write = Callable[[str, str], Path]


def test_consecutive_lines_with_one_question_belong_together(write: Write) -> None:
    path = write("a.tsv", "Who?\tShe.\t1\nWho?\tHe.\t0\nWhen?\tNow.\t0\nWho?\tThey.\t1\n")

    examples = list(read_pairs(path))

    assert [(example.id, example.question) for example in examples] == [
        ("0", "Who?"),
        ("1", "When?"),
        ("2", "Who?"),
    ]
    assert [example.labels for example in examples] == [(True, False), (False,), (True,)]


def test_pairs_are_one_document_in_order(write: Write) -> None:
    path = write("a.tsv", "Who?\tShe.\t1\nWho?\tHe.\t0\n")

    (example,) = read_pairs(path)

    assert [item.position for item in example.candidates] == [0, 1]
    assert example.candidates[0].document is not None
    assert example.candidates[0].document.sentences == ("She.", "He.")


def test_a_leading_quote_is_an_ordinary_character(write: Write) -> None:
    path = write("a.tsv", 'Who?\t"The King.\t1\nWhen?\tToday."\t0\n')

    assert [item.text for example in read_pairs(path) for item in example.candidates] == [
        '"The King.',
        'Today."',
    ]


def test_a_bad_label_names_file_and_line(write: Write) -> None:
    path = write("a.tsv", "Who?\tShe.\t1\nWho?\tHe.\tno\n")

    with pytest.raises(DataError, match=r"a\.tsv:2: label must be 0 or 1, found 'no'$"):
        list(read_pairs(path))


def test_yahooqa_is_shuffled_and_has_no_order(write: Write) -> None:
    path = write("yahoo.tsv", "".join(f"Why?\tAnswer {n}.\t{int(n == 0)}\n" for n in range(50)))

    (example,) = read_yahooqa(path)

    texts = [item.text for item in example.candidates]
    assert texts != [f"Answer {n}." for n in range(50)]
    assert sorted(texts) == sorted(f"Answer {n}." for n in range(50))
    assert [label for label, text in zip(example.labels, texts, strict=True) if label] == [True]
    assert texts[example.labels.index(True)] == "Answer 0."
    assert {(item.document, item.position) for item in example.candidates} == {(None, None)}
    assert [item.id for item in example.candidates] == [f"0-{place}" for place in range(50)]
