"""HAS without torch: what is wrong with a bundle, and lists of any kind."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from tests.models.hashers import make_has, write_tiny_has

import rejoinder
from rejoinder.bundle.folder import open_bundle, write_bundle
from rejoinder.errors import BundleError
from rejoinder.models.has.scorer import HasScorer, hash_bundle

NAMES = ("model.onnx", "vocabulary.txt", "weights.safetensors")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bundles") / "has"
    write_tiny_has(place)
    return place


def rewrite(
    folder: Path, target: Path, change: Callable[[dict[str, bytes]], None], **config: object
) -> Path:
    manifest = open_bundle(folder).manifest
    files = {name: (folder / name).read_bytes() for name in NAMES}
    change(files)
    write_bundle(target, replace(manifest, config={**manifest.config, **config}), files)
    return target


def test_a_bundle_is_a_scorer(folder: Path) -> None:
    scorer = rejoinder.load(folder)

    scores = scorer.score("how hot is tea", ["Tea is hot.", "", "猫 \ud800"])

    assert isinstance(scorer, HasScorer)
    assert scorer.name == "has"
    assert np.isfinite(scores).all()
    assert np.abs(scores).max() <= 1 + 1e-6
    assert scorer.score("?", []).tolist() == []


def test_a_score_does_not_depend_on_the_list(folder: Path) -> None:
    scorer = rejoinder.load(folder)
    texts = ["Tea is hot.", "The ice melted in summer.", "red cat", "x"]

    together = scorer.score("how hot is tea", texts)

    assert together.tolist() == [scorer.score("how hot is tea", [text])[0] for text in texts]


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_without_a_file_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    corrupt = rewrite(folder, tmp_path / "corrupt", lambda files: files.__delitem__(name))

    with pytest.raises(BundleError, match="missing"):
        rejoinder.load(corrupt)


def test_a_file_that_is_not_a_network_is_refused(folder: Path, tmp_path: Path) -> None:
    corrupt = rewrite(folder, tmp_path / "corrupt", lambda files: files.update({NAMES[0]: b"x"}))

    with pytest.raises(BundleError, match="cannot be run"):
        rejoinder.load(corrupt)


def test_an_unknown_composition_is_refused(folder: Path, tmp_path: Path) -> None:
    other = rewrite(folder, tmp_path / "other", lambda _: None, composition="sum")

    with pytest.raises(BundleError, match="'sum'"):
        rejoinder.load(other)


def test_weights_of_another_bundle_make_another_hash(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    write_tiny_has(tmp_path / "other", make_has(seed=1))

    assert hash_bundle(open_bundle(copy)) == hash_bundle(open_bundle(folder))
    assert hash_bundle(open_bundle(tmp_path / "other")) != hash_bundle(open_bundle(folder))
