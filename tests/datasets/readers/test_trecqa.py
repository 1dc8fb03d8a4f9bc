from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from rejoinder.datasets.readers.trecqa import read_trecqa, read_trecqa_xml
from rejoinder.errors import DataError
from rejoinder.types import Example

Write = Callable[[str, str], Path]
WriteRows = Callable[[str, Iterable[object]], Path]
XML = Path(__file__).parents[1] / "fixtures" / "trecqa.xml"


def make_row(question: str, positives: int, negatives: int) -> dict[str, object]:
    labels = [1] * positives + [0] * negatives
    return {
        "question": question,
        "candidates": [
            {"label": label, "sentence": f"Sentence {place} ."}
            for place, label in enumerate(labels)
        ],
    }


def get_answers(example: Example) -> set[str]:
    pairs = zip(example.candidates, example.labels, strict=True)
    return {candidate.text for candidate, label in pairs if label}


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_json_lines_are_numbered_from_0(write_rows: WriteRows, name: str) -> None:
    path = write_rows(name, [make_row("Who ?", 1, 2), make_row("When ?", 0, 1)])

    examples = list(read_trecqa(path))

    assert [(example.id, example.question) for example in examples] == [
        ("0", "Who ?"),
        ("1", "When ?"),
    ]
    assert get_answers(examples[0]) == {"Sentence 0 ."}
    assert examples[1].labels == (False,)


def test_neither_order_nor_ids_leak_the_labels(write_rows: WriteRows) -> None:
    path = write_rows("t.jsonl", [make_row(f"Question {n} ?", 5, 5) for n in range(40)])

    examples = list(read_trecqa(path))

    in_front = sum(sum(example.labels[:5]) for example in examples)
    assert 70 < in_front < 130  # 100 expected of 200; unshuffled it would be 200
    assert all(len(get_answers(example)) == 5 for example in examples)
    assert {(item.document, item.position) for e in examples for item in e.candidates} == {
        (None, None)
    }
    assert [item.id for item in examples[3].candidates] == [f"3-{place}" for place in range(10)]


def test_the_order_depends_on_the_seed_alone(write_rows: WriteRows) -> None:
    path = write_rows("t.jsonl", [make_row("Who ?", 5, 50)])

    assert list(read_trecqa(path)) == list(read_trecqa(path))
    assert list(read_trecqa(path, seed=1)) != list(read_trecqa(path))


def test_a_bad_label_names_line_and_candidate(write_rows: WriteRows) -> None:
    row = {"question": "Who ?", "candidates": [{"label": 3, "sentence": "She ."}]}
    path = write_rows("t.jsonl", [make_row("Who ?", 1, 1), row])

    with pytest.raises(
        DataError, match=r"t\.jsonl:2: candidates\[0\]: field 'label' must be 0 or 1, found 3$"
    ):
        list(read_trecqa(path))


def test_pseudo_xml_keeps_its_ids_and_its_first_lines() -> None:
    examples = list(read_trecqa_xml(XML))

    assert [(example.id, example.question) for example in examples] == [
        ("1.1", "What do bees make & keep ?"),
        ("1.2", "Where is <num> ?"),
    ]
    assert get_answers(examples[0]) == {"Bees make honey .", "<num> jars of honey , they say ."}
    assert [len(example.candidates) for example in examples] == [5, 1]
    assert examples[1].labels == (False,)


def test_pseudo_xml_is_shuffled_too() -> None:
    orders = {next(read_trecqa_xml(XML, seed=seed)).labels for seed in range(10)}

    assert len(orders) > 1


WORDS = "<question>\nWho\t?\nWP\t.\n</question>\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html>\n", r"t\.xml:1: expected <QApairs id='…'>, found '<html>'$"),
        (
            "<QApairs id='1'>x\n",
            r"t\.xml:1: expected <QApairs id='…'>, found \"<QApairs id='1'>x\"$",
        ),
        ("<QApairs id='1'>\n</QApairs>\n", r"t\.xml:2: expected <question>, found '</QApairs>'$"),
        (f"<QApairs id='1'>\n{WORDS}", r"t\.xml:1: <QApairs id='1'> is never closed$"),
        (
            f"<QApairs id='1'>\n{WORDS}stray\n",
            r"t\.xml:6: expected </QApairs> or a sentence, found 'stray'$",
        ),
        (
            f"<QApairs id='1'>\n{WORDS}<positive>\nShe\t.\n",
            r"t\.xml:6: </positive> is missing$",
        ),
        (
            f"<QApairs id='1'>\n{WORDS}<negative>\n\nNN\n</negative>\n",
            r"t\.xml:6: no words before </negative>$",
        ),
        (
            f"<QApairs id='1'>\n{WORDS}<negative>\n</negative>\n",
            r"t\.xml:6: no words before </negative>$",
        ),
    ],
)
def test_a_broken_block_names_its_line(write: Write, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_trecqa_xml(write("t.xml", text)))
