"""A bundle with drawn weights and the shipped vectors: as fast as a trained one."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from rejoinder.bundle.folder import Manifest, write_bundle
from rejoinder.models.static_vectors.vectors import load_vectors, to_files

CHANNELS, HIDDEN, KERNEL = 300, 150, 5


def write_cosinet(folder: Path) -> Path:
    """Write Cosinet with a BiRNN head, of the paper's widths; return the folder."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> NDArray[np.float32]:
        return (rng.normal(size=shape) / shape[-1] ** 0.5).astype(np.float32)

    vectors = load_vectors()
    weights = {"output.weight": draw(1, 2 * HIDDEN), "output.bias": draw(1)}
    for side in ("question", "candidate"):
        weights[f"encoder.{side}.convolution.weight"] = draw(CHANNELS, vectors.width + 1, KERNEL)
        weights[f"encoder.{side}.convolution.bias"] = draw(CHANNELS)
    for suffix in ("", "_reverse"):
        weights[f"head.network.weight_ih_l0{suffix}"] = draw(HIDDEN, 2 * CHANNELS)
        weights[f"head.network.weight_hh_l0{suffix}"] = draw(HIDDEN, HIDDEN)
        weights[f"head.network.bias_ih_l0{suffix}"] = draw(HIDDEN)
        weights[f"head.network.bias_hh_l0{suffix}"] = draw(HIDDEN)
    config = {"model": "cosinet", "vector_width": vectors.width, "head": "birnn"}
    manifest = Manifest("cosinet", config | {"are_pieces": True}, training={"data": ["none"]})
    write_bundle(folder, manifest, {"weights.safetensors": save(weights), **to_files(vectors)})
    return folder


def draw_texts(count: int, words: int = 25) -> list[str]:
    """Return texts of common words, the same ones at each call."""
    rng = np.random.default_rng(0)
    common = np.array(load_vectors().vocabulary[1000:9000])
    return [" ".join(rng.choice(common, words)) for _ in range(count)]
