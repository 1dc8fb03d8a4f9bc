"""Tiny bundles that can be written, corrupted and loaded thousands of times."""

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


def make_static_weights(width: int = 64) -> bytes:
    """Return the tensors of a tiny static encoder."""
    rng = np.random.default_rng(0)
    return save(
        {
            "rows": rng.integers(-127, 128, (5, width), dtype=np.int8),
            "scales": np.full(5, 0.01, np.float16),
            "gains": np.ones(5, np.float16),
        }
    )


def write_static_bundle(folder: Path) -> Path:
    """Write the bundle of a tiny static encoder; return the folder."""
    weights = {"title": 0.5, "heading": 0.5, "outer": 0.25, "neighbour": 0.15}
    config = {"weights": weights, "min_cosine": 0.3, "width": 64}
    vocabulary = "".join(f"{piece}\n" for piece in ("[UNK]", "tea", "is", "hot", "ice"))
    files = {"weights.safetensors": make_static_weights(), "vocabulary.txt": vocabulary.encode()}
    write_bundle(folder, Manifest("static-encoder", config, precision="int8"), files)
    return folder
