import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from rejoinder.datasets.stream import ExampleStream  # noqa: E402
from rejoinder.errors import DataError, InputError, TrainingError, UnknownNameError  # noqa: E402
from rejoinder.training import mixing  # noqa: E402
from rejoinder.training.mixing import (  # noqa: E402
    AnsweredQuestions,
    Part,
    order_epoch,
    prepare,
    read_parts,
)
from rejoinder.training.options import RankerOptions  # noqa: E402
from rejoinder.types import Candidate, Example  # noqa: E402


def make_example(number: int, *labels: bool) -> Example:
    candidates = tuple(Candidate(str(place), f"text {place}") for place in range(len(labels)))
    return Example(str(number), "q", candidates, labels)


def write_lines(path: Path, count: int) -> Path:
    row = {"question": "q", "candidates": [{"text": "a", "label": 1}, {"text": "b", "label": 0}]}
    path.write_text(f"{json.dumps(row)}\n" * count)
    return path


def test_an_epoch_reads_each_part_by_its_weight() -> None:
    order = order_epoch([4, 10, 3], [1, 0.5, 2], seed=0, epoch=0)

    times = Counter(order.tolist())
    assert [times[place] for place in range(4)] == [1] * 4
    assert sum(times[place] for place in range(4, 14)) == 5
    assert [times[place] for place in range(14, 17)] == [2] * 3


def test_epochs_have_equal_length_and_are_deterministic() -> None:
    first, second, again = (order_epoch([50], [0.5], seed=3, epoch=epoch) for epoch in (0, 1, 0))

    assert len(first) == len(second) == 25
    assert first.tolist() != second.tolist()
    assert first.tolist() == again.tolist()


def test_a_choice_names_a_file_and_a_weight(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"question": "q", "candidates": [{"text": "a", "label": 1}]}) + "\n")

    plain, weighted = read_parts([str(path), f"{path}@2.5"])

    assert plain.weight == 1.0
    assert weighted.weight == 2.5
    assert plain.take(1)[0].question == "q"


@pytest.mark.parametrize("weight", ["0", "-1", "x", "inf", "nan"])
def test_a_weight_must_be_a_positive_number(weight: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"question": "q", "candidates": []}) + "\n")

    with pytest.raises(InputError, match="must be a positive number"):
        read_parts([f"{path}@{weight}"])


def test_an_unknown_data_set_or_split_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'wikiqa'"):
        read_parts(["wikqa"])
    with pytest.raises(UnknownNameError, match="split of wikiqa 'trian'; did you mean 'train'"):
        read_parts(["wikiqa:trian"])


def test_a_part_is_opened_again_for_each_pass(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "mine.jsonl", 5)
    (part,) = read_parts([str(path)])

    assert [len(list(part.examples)) for _ in range(2)] == [5, 5]
    assert isinstance(part.examples, ExampleStream)
    assert [example.id for example in part.take(2)] == ["0", "1"]
    assert isinstance(part.load().examples, list)


def test_a_part_with_a_missing_empty_or_malformed_file_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_parts([str(tmp_path / "none.jsonl")])
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    with pytest.raises(DataError, match="the file is empty"):
        read_parts([str(empty)])


def test_a_truncated_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "mine.jsonl", 5)
    path.write_bytes(path.read_bytes()[:-20])

    with pytest.raises(DataError, match=r"mine\.jsonl:5: not JSON: .* truncated: get it again"):
        list(AnsweredQuestions(read_parts([str(path)])))


def test_the_progress_of_long_reading_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "mine.jsonl", 3)
    told: list[str] = []
    (part,) = read_parts([str(path)], say=told.append)
    list(part.examples)
    assert told == []

    monkeypatch.setattr(mixing, "SECONDS_BETWEEN_REPORTS", -1.0)
    list(part.examples)

    assert told[-1] == f"reading {path}: 3 questions, 6 candidates"


def test_a_generator_is_no_part() -> None:
    with pytest.raises(InputError, match="can be read only once; give a list"):
        Part(make_example(number, True) for number in range(3))


def test_only_answered_questions_are_read_and_counted() -> None:
    first = [make_example(0, True), make_example(1, False), make_example(2, True, False)]
    answered = AnsweredQuestions([Part(first), Part([make_example(3, True)])])

    assert answered.count() == [2, 1]
    assert [example.id for example in answered] == ["0", "2", "3"]
    assert answered.get_targets() is None


def test_a_part_without_an_answer_is_refused() -> None:
    for examples in ([], [make_example(0, False)]):
        with pytest.raises(TrainingError, match="no question has an answer"):
            AnsweredQuestions([Part([make_example(0, True)]), Part(examples)]).count()


def test_a_question_without_an_answer_is_read_if_its_part_has_targets() -> None:
    examples = [make_example(0, False), make_example(1, True, False), make_example(2, False)]
    parts = [Part(examples, targets=[[0.5], [0.9, 0.1], [0.2]]), Part(examples)]

    answered = AnsweredQuestions(parts)

    assert [example.id for example in answered] == ["0", "1", "2", "1"]
    assert answered.count() == [3, 1]
    assert list(answered.get_targets() or ()) == [[0.5], [0.9, 0.1], [0.2], (True, False)]


def test_a_part_with_targets_needs_no_answer() -> None:
    answered = AnsweredQuestions([Part([make_example(0, False)], targets=[[0.5]])])

    assert answered.count() == [1]
    with pytest.raises(TrainingError, match="no question has an answer"):
        AnsweredQuestions([Part([], targets=[])]).count()


def test_a_share_of_a_stream_is_the_same_as_of_a_list() -> None:
    examples = [make_example(number, True) for number in range(20)]
    stream = ExampleStream(lambda: iter(examples))
    targets = [[float(number)] for number in range(20)]

    one, other = (Part(given, 0.25, targets).take_share(seed=1) for given in (examples, stream))

    assert one == other
    assert one.weight == 1.0
    assert isinstance(one.examples, list)
    assert [[float(example.id)] for example in one.examples] == one.targets
    assert len({example.id for example in one.examples}) == 5
    assert Part(stream, 2.0).take_share(seed=1) == Part(stream, 1.0)


def test_few_examples_of_a_large_set_are_alive_at_once(tmp_path: Path) -> None:
    read = 0

    def count() -> Iterator[Example]:
        nonlocal read
        for read in range(1, 1001):
            yield make_example(read, True)

    part = Part(ExampleStream(count))
    training_set = prepare(RankerOptions(to=tmp_path / "m", model="cosinet"), [part])

    assert read == 0
    assert training_set.names == ["a stream of examples"]
    assert training_set.parts[0].take(3)[2].id == "3"
    assert read == 3
