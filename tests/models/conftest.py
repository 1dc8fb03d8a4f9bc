"""A small real bundle: Cosinet over made-up weights and vectors, no torch needed."""

import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from rejoinder.bundle.folder import Manifest, write_bundle
from rejoinder.models.static_vectors.vectors import StaticVectors, quantise_rows, to_files
from tests.models.arm import ArmLibrary

WIDTH, CHANNELS, HIDDEN = 6, 10, 4
WORDS = ["cat", "dog", "red", "the", "is", "here", "where", "?", ".", "it", "rained"]


def make_cosinet(folder: Path, head: str, *, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return (rng.normal(size=shape) / 3).astype(np.float32)

    weights = {}
    for side in ("question", "candidate"):
        weights[f"encoder.{side}.convolution.weight"] = draw(CHANNELS, WIDTH + 1, 5)
        weights[f"encoder.{side}.convolution.bias"] = draw(CHANNELS)
    read = 2 * CHANNELS
    if head == "birnn":
        read = 2 * HIDDEN
        for suffix in ("", "_reverse"):
            weights[f"head.network.weight_ih_l0{suffix}"] = draw(HIDDEN, 2 * CHANNELS)
            weights[f"head.network.weight_hh_l0{suffix}"] = draw(HIDDEN, HIDDEN)
            weights[f"head.network.bias_ih_l0{suffix}"] = draw(HIDDEN)
            weights[f"head.network.bias_hh_l0{suffix}"] = draw(HIDDEN)
    weights["output.weight"], weights["output.bias"] = draw(1, read), draw(1)
    vectors = StaticVectors(WORDS, *quantise_rows(draw(len(WORDS), WIDTH)), are_pieces=False)
    config = {"model": "cosinet", "vector_width": WIDTH, "head": head, "are_pieces": False}
    files = {"weights.safetensors": save(weights), **to_files(vectors)}
    write_bundle(folder, Manifest("cosinet", config, training={"data": ["none"]}), files)
    return folder


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Small work is slower on two threads, and much slower where the machine is shared."""
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)


@pytest.fixture(params=["none", "birnn"])
def bundle(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return make_cosinet(tmp_path / "small", request.param)


@pytest.fixture(scope="session")
def arm_library(tmp_path_factory: pytest.TempPathFactory) -> ArmLibrary:
    """The kernel for ARM, compiled once."""
    return ArmLibrary(tmp_path_factory.mktemp("arm"))
