import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.list_squad_part import write_list

from rejoinder.datasets.entries import ENTRIES
from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.datasets.readers.squad import read_squad
from rejoinder.datasets.readers.squad_part import (
    LIST,
    hash_question,
    list_questions,
    read_squad_part,
)
from rejoinder.errors import DataError

ID = "5733be284776f41900661182"
CONTEXT = "Bees sleep at night. They make honey (of nectar), and it keeps."


def write_squad(path: Path, *questions: tuple[str, str, str]) -> Path:
    """Write a file of SQuAD with one paragraph: ids, questions and answers."""
    rows: list[dict[str, Any]] = [
        {
            "id": id_,
            "question": question,
            "answers": [{"text": answer, "answer_start": CONTEXT.index(answer)}],
        }
        for id_, question, answer in questions
    ]
    article = {"title": "Honey_bee", "paragraphs": [{"context": CONTEXT, "qas": rows}]}
    path.write_text(json.dumps({"version": "1.1", "data": [article]}), encoding="utf-8")
    return path


@pytest.fixture
def squad(tmp_path: Path) -> Path:
    return write_squad(
        tmp_path / "train.json",
        (ID, "When do bees sleep?", "at night"),
        ("5" * 24, "What do they make (of nectar)?", "honey"),
        ("6" * 24, "Does honey keep?", "it keeps"),
    )


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """Two questions: one with SQuAD's id, one whose text was tokenised."""
    judged = [Judged("Bees sleep at night.", True)]
    known = to_ordered_example(ID, "When do bees sleep?", judged, title="Honey_bee")
    tokenised = to_ordered_example("val7", "What do they make ( of nectar ) ?", judged, title="x")
    path = tmp_path / "list.txt.gz"
    write_list([known, tokenised], path)
    return path


def test_questions_are_found_by_their_id_or_their_text(squad: Path, listed: Path) -> None:
    first, second = read_squad_part(squad, listed=listed)

    assert [first.id, second.id] == [ID, "5" * 24]
    assert [first.labels, second.labels] == [(True, False), (False, True)]
    assert first.candidates[0].document is not None
    assert first.candidates[0].document.title == "Honey_bee"
    assert second.candidates[0].document is not None
    # The part names no article there: a paragraph is a page of its own.
    assert second.candidates[0].document.title == CONTEXT[:40]
    assert first.candidates[1].text == "They make honey (of nectar), and it keeps."


def test_fit_and_dev_are_the_whole(squad: Path, listed: Path) -> None:
    parts = [list(read_squad_part(squad, part=part, listed=listed)) for part in ("fit", "dev")]

    assert sorted(example.id for part in parts for example in part) == ["5" * 24, ID]


def test_another_file_of_squad_says_what_it_has(tmp_path: Path, listed: Path) -> None:
    other = write_squad(tmp_path / "dev.json", (ID, "When do bees sleep?", "at night"))

    with pytest.raises(DataError) as raised:
        list(read_squad_part(other, listed=listed))

    assert str(raised.value) == (
        f"{other}: has 1 of the 2 questions of squad-train-part; train-v1.1.json of SQuAD v1.1 has"
        " all of them: rejoinder data get squad-v1"
    )


def test_the_list_has_the_questions_of_the_part() -> None:
    questions = list_questions(LIST)

    (source, *_) = next(d for d in ENTRIES if d.name == "squad-train-part").splits["train"]
    assert source.counts is not None
    # Two questions of different paragraphs have the same text.
    assert len(questions) == source.counts.questions - 1
    assert sum(len(key) == 24 for key in questions) == 11_346
    assert set(questions.values()) == {"fit", "dev"}
    assert LIST.stat().st_size < 300_000


def test_the_published_dev_file_is_selected_from(data_folder: Path, tmp_path: Path) -> None:
    path = data_folder / "squad" / "dev-v1.1.json"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    whole = list(read_squad(path))
    chosen, listed = whole[::50], tmp_path / "list.txt.gz"
    write_list(chosen, listed)

    part = list(read_squad_part(path, listed=listed))

    assert [example.id for example in part] == [example.id for example in chosen]
    assert [example.labels for example in part] == [example.labels for example in chosen]
    assert [[c.text for c in example.candidates] for example in part] == [
        [c.text for c in example.candidates] for example in chosen
    ]


def test_spaces_and_quotes_do_not_change_a_hash() -> None:
    assert hash_question("Who 's ``there '' ?") == hash_question('Who\'s "there"?')
    assert hash_question("Who?") != hash_question("Whom?")
