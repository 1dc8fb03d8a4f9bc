"""Tests training from a selector's bundle, and averages of its weights with its start."""

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import rejoinder  # noqa: E402
from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.datasets.readers.judged import Judged, to_ordered_example  # noqa: E402
from rejoinder.errors import InputError  # noqa: E402
from rejoinder.models.selector.context import ContextConfig  # noqa: E402
from rejoinder.models.selector.export import reopen_selector, write_selector  # noqa: E402
from rejoinder.models.selector.module.selector import Selector, add_context  # noqa: E402
from rejoinder.training.selector import average_selectors, mix  # noqa: E402
from tests.models.selectors import TOKENIZER, make_selector  # noqa: E402

LISTS = [
    to_ordered_example("q", "is ice cold", [Judged("ice is cold", True), Judged("it is", False)])
]
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


def test_only_the_last_layers_are_trained_if_told_so(tmp_path: Path, start: Path) -> None:
    options = rejoinder.SelectorOptions(
        to=tmp_path / "m", start=(str(start),), train_layers=1, int8=False, learning_rate=0.01
    )
    rejoinder.train_selector(options, LISTS)

    before, after = read(start), read(tmp_path / "m")
    changed = {name for name, value in after.items() if not torch.equal(value, before[name])}
    assert "alike" in changed
    layers = {name for name in changed if name.startswith("encoder.")}
    assert layers
    assert all(name.startswith("encoder.encoder.layer.1.") for name in layers)
    assert open_bundle(tmp_path / "m").manifest.training["train_layers"] == 1


def test_lists_without_an_answer_are_learnt_if_told_so(tmp_path: Path, start: Path) -> None:
    wrong = [to_ordered_example("w", "is ice warm", [Judged("ice is cold", False)])]

    def train(name: str, *, unanswered: bool) -> rejoinder.Trained:
        options = rejoinder.SelectorOptions(
            to=tmp_path / name,
            start=(str(start),),
            questions_per_step=1,
            unanswered=unanswered,
            int8=False,
        )
        return rejoinder.train_selector(options, [*LISTS, *wrong])

    assert train("without", unanswered=False).steps == 1
    assert train("with", unanswered=True).steps == 2
    assert open_bundle(tmp_path / "with").manifest.training["unanswered"] is True


def test_an_ensemble_trains_all_of_its_layers(tmp_path: Path) -> None:
    starts = tuple(
        str(write(tmp_path / form, add_context(make_selector(), ContextConfig(form, "ngrams"))))
        for form in ("local", "global")
    )
    options = rejoinder.SelectorOptions(
        to=tmp_path / "m",
        start=starts,
        context="ensemble",
        similarity="ngrams",
        train_layers=1,
    )

    with pytest.raises(InputError, match="--train-layers is for a selector with one encoder"):
        rejoinder.train_selector(options, LISTS)
