"""Bundles whose sums are right and whose content is not: refused in our words, never run."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from rejoinder.bundle.folder import Manifest, write_bundle
from rejoinder.errors import BundleError, RejoinderError, UnknownNameError
from rejoinder.models.registry import open_scorer
from rejoinder.models.static_vectors.vectors import StaticVectors, to_files

SEEDS = Path(__file__).parents[1] / "reliability" / "seeds" / "bundle"
Change = Callable[[dict[str, Any]], object]


def make_weights(head: str) -> dict[str, Any]:
    """Return the weights of a small Cosinet: 3 channels over vectors of 4, a state of 2."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    width = 6 if head == "none" else 4
    weights = {"output.weight": draw(1, width), "output.bias": draw(1)}
    for side in ("question", "candidate"):
        weights[f"encoder.{side}.convolution.weight"] = draw(3, 5, 5)
        weights[f"encoder.{side}.convolution.bias"] = draw(3)
    for suffix in ("", "_reverse") if head != "none" else ():
        weights[f"head.network.weight_ih_l0{suffix}"] = draw(2, 6)
        weights[f"head.network.weight_hh_l0{suffix}"] = draw(2, 2)
        weights[f"head.network.bias_ih_l0{suffix}"] = draw(2)
        weights[f"head.network.bias_hh_l0{suffix}"] = draw(2)
    return weights


def write(folder: Path, head: str = "none", files: Mapping[str, bytes] | None = None) -> Path:
    words = ["[UNK]", "tea", "is", "hot", "a"]
    rows = np.arange(20, dtype=np.int8).reshape(5, 4)
    vectors = StaticVectors(words, rows, np.ones(5, dtype=np.float32), are_pieces=True)
    config = {"model": "cosinet", "vector_width": 4, "head": head, "are_pieces": True}
    content = {"weights.safetensors": save(make_weights(head)), **to_files(vectors)}
    content |= files or {}
    write_bundle(folder, Manifest("cosinet", config), content)
    return folder


@pytest.mark.parametrize("head", ["none", "birnn"])
def test_the_bundle_that_is_changed_below_is_a_good_one(tmp_path: Path, head: str) -> None:
    assert len(open_scorer(write(tmp_path / "b", head)).score("tea?", ["tea is hot", "ice"])) == 2


CONVOLUTION = "encoder.candidate.convolution.weight"
BIAS = "encoder.candidate.convolution.bias"


@pytest.mark.parametrize(
    ("head", "change"),
    [
        ("none", lambda w: w.update({CONVOLUTION: w[CONVOLUTION][:, :, :3]})),
        ("none", lambda w: w.update({CONVOLUTION: w[CONVOLUTION][:, :4]})),
        ("none", lambda w: w.update({CONVOLUTION: w[CONVOLUTION][0]})),
        ("none", lambda w: w.update({CONVOLUTION: w[CONVOLUTION][:0], BIAS: w[BIAS][:0]})),
        ("none", lambda w: w.update({BIAS: w[BIAS][:1]})),
        ("none", lambda w: w.update({BIAS: w[BIAS].reshape(1, 3)})),
        ("none", lambda w: w.update({CONVOLUTION: w[CONVOLUTION][:2], BIAS: w[BIAS][:2]})),
        ("none", lambda w: w.update({"output.weight": w["output.weight"][:, :5]})),
        ("none", lambda w: w.update({"output.bias": np.zeros(9, dtype=np.float32)})),
        ("none", lambda w: w.update({"output.weight": w["output.weight"][0]})),
        ("none", lambda w: w.pop(BIAS)),
        ("birnn", lambda w: w.update({"head.network.weight_hh_l0": np.ones((2, 9), "f4")})),
        ("birnn", lambda w: w.update({"head.network.weight_hh_l0": np.ones((3, 2), "f4")})),
        ("birnn", lambda w: w.update({"head.network.weight_ih_l0": np.ones((2, 5), "f4")})),
        ("birnn", lambda w: w.update({"head.network.bias_ih_l0": np.ones(1, "f4")})),
        ("birnn", lambda w: w.pop("head.network.weight_hh_l0_reverse")),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, head: str, change: Change) -> None:
    weights = make_weights(head)
    change(weights)
    folder = write(tmp_path / "b", head, {"weights.safetensors": save(weights)})

    with pytest.raises(BundleError, match="export the bundle again"):
        open_scorer(folder)


@pytest.mark.parametrize("head", [[], {}, None, 3, "gru"])
def test_a_head_that_does_not_exist_is_refused(tmp_path: Path, head: object) -> None:
    folder = write(tmp_path / "b")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["config"]["head"] = head
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    with pytest.raises(UnknownNameError, match="head"):
        open_scorer(folder)


@pytest.mark.parametrize(
    "context",
    [[], {"form": {}}, {"similarity": ["static"]}, {"neighbours": "1"}, {"colour": "red"}],
)
def test_a_context_of_other_types_is_refused(tmp_path: Path, context: object) -> None:
    shutil.copytree(SEEDS / "selector", tmp_path / "b")
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text(encoding="utf-8"))
    manifest["config"]["context"] = context
    (tmp_path / "b" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    with pytest.raises(RejoinderError, match=r"manifest\.json: "):
        open_scorer(tmp_path / "b")


def spoil_vectors(change: Change) -> bytes:
    tensors = load(
        to_files(
            StaticVectors(["[UNK]"] * 5, np.ones((5, 4), np.int8), np.ones(5), are_pieces=False)
        )["vectors.safetensors"]
    )
    change(tensors)
    return save(tensors)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("weights.safetensors", b"no weights"),
        ("vectors.safetensors", b""),
        ("vectors.safetensors", spoil_vectors(lambda t: t.pop("scales"))),
        ("vectors.safetensors", spoil_vectors(lambda t: t.update(scales=np.ones(4, "f2")))),
        ("vectors.safetensors", spoil_vectors(lambda t: t.update(rows=np.ones(5, "i1")))),
        ("vocabulary.txt", b"\xff\n" * 5),
        ("vocabulary.txt", b"a\nb\nc\nd\ne\n"),
    ],
)
def test_files_that_are_something_else_are_refused(
    tmp_path: Path, name: str, content: bytes
) -> None:
    folder = write(tmp_path / "b", files={name: content})

    with pytest.raises(BundleError, match="export the bundle again"):
        open_scorer(folder)
