import json
from collections import Counter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from rejoinder.errors import InputError, UnknownNameError  # noqa: E402
from rejoinder.training.mixing import order_epoch, read_parts  # noqa: E402


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
