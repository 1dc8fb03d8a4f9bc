"""Vectors as bits and as int8 numbers, and a question that is compared with both.

Vectors are rotated first, by a cosine transform with random signs: after that all dimensions are
alike, and both codes find more of the nearest (docs/decisions/0032).  Dot products do not change.
"""

from functools import cache
from hashlib import shake_128
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.kernel import PLANES, Linear, load_kernel

MAX_WEIGHT = (1 << PLANES) - 1
"""The largest weight of a question's bit."""

Bytes = NDArray[np.uint8]
Matrix = NDArray[np.float32]


class Codes(NamedTuple):
    """The codes of vectors."""

    bits: Bytes
    """The sign of each number, shape (vectors, width / 8)."""
    numbers: NDArray[np.int8]
    """Shape (vectors, width)."""
    scales: Matrix
    """By which the numbers of a vector are multiplied, so that its length is 1."""


class QuestionCode(NamedTuple):
    """A question's vector, to be compared with codes."""

    rotated: Matrix
    planes: NDArray[np.uint64]
    """Its signs, then each bit of its weights, the lowest first; shape (1 + PLANES, words)."""


def encode_vectors(vectors: Matrix) -> Codes:
    """Return the codes of vectors; a vector that is not finite counts as zeros."""
    is_finite = np.isfinite(vectors).all(axis=1, keepdims=True)
    rotated = get_rotation(vectors.shape[1])(np.where(is_finite, vectors, np.float32(0)))
    largest = np.abs(rotated).max(axis=1, keepdims=True, initial=0)
    numbers = np.rint(rotated * (127 / np.where(largest > 0, largest, 1)))
    lengths = np.sqrt(np.square(numbers).sum(axis=1))
    scales = np.where(lengths > 0, 1 / np.maximum(lengths, 1), 0)
    bits = np.packbits(rotated > 0, axis=1, bitorder="little")
    return Codes(bits, numbers.astype(np.int8), scales.astype(np.float32))


def encode_question(vector: Matrix) -> QuestionCode:
    """Return the code of a question's vector."""
    (rotated,) = get_rotation(len(vector))(vector[None])
    sizes = np.abs(rotated)
    weights = (sizes * ((MAX_WEIGHT + 0.5) / max(float(sizes.max()), 1e-30))).astype(np.uint8)
    rows = [rotated > 0, *((weights >> plane) & 1 for plane in range(PLANES))]
    planes = np.packbits(np.stack(rows).astype(np.bool_), axis=1, bitorder="little")
    return QuestionCode(np.ascontiguousarray(rotated), planes.view("<u8"))


@cache
def get_rotation(width: int) -> Linear:
    """Return an orthogonal transform, the same one on every machine."""
    places = np.arange(width)
    cosines = np.cos(np.pi / width * np.outer(places + 0.5, places)) * (2 / width) ** 0.5
    cosines[:, 0] /= 2**0.5
    seed = np.frombuffer(shake_128(b"rotation").digest(width // 8), dtype=np.uint8)
    signs = 2.0 * np.unpackbits(seed) - 1
    return Linear((signs[:, None] * cosines).astype(np.float32), kernel=load_kernel())
