"""A tiny Cosinet bundle that can be written, corrupted and loaded thousands of times."""

from pathlib import Path

import numpy as np
from safetensors.numpy import save

from rejoinder.bundle.folder import Manifest, write_bundle
from rejoinder.models.static_vectors.vectors import StaticVectors, to_files


def make_weights(width: int = 4, channels: int = 3, seed: int = 0) -> bytes:
    """Return the weights of a tiny Cosinet without a head."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return rng.normal(size=shape).astype(np.float32)

    weights = {"output.weight": draw(1, 2 * channels), "output.bias": draw(1)}
    for side in ("question", "candidate"):
        weights[f"encoder.{side}.convolution.weight"] = draw(channels, width + 1, 5)
        weights[f"encoder.{side}.convolution.bias"] = draw(channels)
    return save(weights)


def write_small_bundle(folder: Path, seed: int = 0) -> Path:
    """Write the bundle of a tiny Cosinet; return the folder."""
    words = ["[UNK]", "tea", "is", "hot", "ice"]
    rows = np.arange(20, dtype=np.int8).reshape(5, 4)
    vectors = StaticVectors(words, rows, np.ones(5, dtype=np.float32), are_pieces=True)
    config = {"model": "cosinet", "vector_width": 4, "head": "none", "are_pieces": True}
    files = {"weights.safetensors": make_weights(seed=seed), **to_files(vectors)}
    write_bundle(folder, Manifest("cosinet", config), files)
    return folder
