"""Tests averages of the weights of two selectors."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rejoinder.errors import InputError  # noqa: E402
from rejoinder.models.selector.context import ContextConfig  # noqa: E402
from rejoinder.models.selector.export import reopen_selector, write_selector  # noqa: E402
from rejoinder.models.selector.module.selector import Selector, add_context  # noqa: E402
from rejoinder.training.selector import average_selectors, mix  # noqa: E402
from tests.models.selectors import TOKENIZER, make_selector  # noqa: E402

WEIGHT = "encoder.encoder.layer.0.output.dense.weight"


def write(folder: Path, model: Selector) -> Path:
    write_selector(folder, model, TOKENIZER, precision="fp32", training={"seed": 1}, sample=[])
    return folder


@pytest.fixture
def start(tmp_path: Path) -> Path:
    return write(tmp_path / "start", make_selector(seed=1))


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    model = add_context(make_selector(seed=2), ContextConfig("headings"))
    return write(tmp_path / "trained", model)


def read(folder: Path) -> dict[str, Any]:
    model, _ = reopen_selector(folder)
    return model.state_dict()


def test_weights_are_averaged_by_the_share(tmp_path: Path, trained: Path, start: Path) -> None:
    average_selectors(trained, start, share=0.25, to=tmp_path / "average")

    one, other, average = read(trained), read(start), read(tmp_path / "average")
    assert not torch.equal(one[WEIGHT], other[WEIGHT])
    assert torch.allclose(average[WEIGHT], 0.75 * one[WEIGHT] + 0.25 * other[WEIGHT])
    assert torch.allclose(average["alike"], 0.75 * one["alike"] + 0.25 * other["alike"])


def test_an_average_reads_the_context_of_the_trained_one(
    tmp_path: Path, trained: Path, start: Path
) -> None:
    manifest = average_selectors(
        trained, start, share=0.5, to=tmp_path / "average", command="average"
    )

    assert manifest.config["context"]["form"] == "headings"
    assert manifest.training["averaged"]["share"] == 0.5
    assert manifest.training["trained"] == {"seed": 1}
    assert manifest.training["command"] == "average"


@pytest.mark.parametrize(("share", "kept"), [(0.0, "trained"), (1.0, "start")])
def test_a_share_of_nothing_or_all_is_one_of_them(
    tmp_path: Path, trained: Path, start: Path, share: float, kept: str
) -> None:
    average_selectors(trained, start, share=share, to=tmp_path / "average")

    average, expected = read(tmp_path / "average"), read(tmp_path / kept)
    assert torch.equal(average[WEIGHT], expected[WEIGHT])
    assert torch.equal(average["first.bias"], expected["first.bias"])


def test_other_networks_and_shares_are_refused(tmp_path: Path, trained: Path) -> None:
    other = write(tmp_path / "other", make_selector(layers=1))

    with pytest.raises(InputError, match="different networks"):
        average_selectors(trained, other, share=0.5, to=tmp_path / "average")
    with pytest.raises(InputError, match=r"share cannot be 1\.5"):
        average_selectors(trained, trained, share=1.5, to=tmp_path / "average")
    assert not (tmp_path / "average").exists()


def test_integers_are_not_averaged() -> None:
    one, other = {"places": torch.tensor([1])}, {"places": torch.tensor([2])}

    assert mix(one, other, 0.5) == one
