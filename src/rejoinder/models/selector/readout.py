"""How a selector's score is read from its encoder's last states, for the compiled kernel.

It computes what export_graph.py writes as an ONNX graph.
"""

from collections.abc import Mapping

import numpy as np

from rejoinder.models.encoders.network import Encoded, Readout, to_length_1
from rejoinder.models.encoders.onnx_weights import Array
from rejoinder.models.kernel import Matrix
from rejoinder.models.selector.pair_reader import CANDIDATE, QUESTION

COSINE = {"alike", "first.weight", "first.bias"}
"""The weights of a score by the cosine of the two sides."""


def make_readout(rest: Mapping[str, Array]) -> Readout | None:
    """Return how the score is read, by the weights beside the encoder; None if they are others."""
    if set(rest) == COSINE:
        return _read_cosine(rest)
    for hidden, output in (
        ("pooler.dense", "model.classifier"),
        ("model.classifier.dense", "model.classifier.out_proj"),
    ):
        dense = next((name for name in rest if name.endswith(f"{hidden}.weight")), "")
        names = [dense, dense.replace(".weight", ".bias"), f"{output}.weight", f"{output}.bias"]
        if dense and set(rest) == set(names):
            return _read_classifier(*(np.asarray(rest[name], dtype=np.float32) for name in names))
    return None


def _read_cosine(weights: Mapping[str, Array]) -> Readout:
    alike, by_first = weights["alike"].reshape(-1), weights["first.weight"].reshape(-1)
    bias = float(weights["first.bias"].reshape(-1)[0])

    def read(encoded: Encoded) -> Matrix:
        question, candidate = (to_length_1(encoded.average(kind)) for kind in (QUESTION, CANDIDATE))
        # Sums of rows, not a product of matrices, whose rounding depends on the number of rows.
        product = (question * candidate * alike).sum(axis=1)
        return np.asarray(product + (encoded.get_first() * by_first).sum(axis=1) + bias)

    return read


def _read_classifier(dense: Matrix, dense_bias: Matrix, output: Matrix, bias: Matrix) -> Readout:
    def read(encoded: Encoded) -> Matrix:
        rows = [np.tanh(first @ dense + dense_bias) for first in encoded.get_first()]
        return np.array([float((row * output.reshape(-1)).sum()) for row in rows]) + bias

    return read
