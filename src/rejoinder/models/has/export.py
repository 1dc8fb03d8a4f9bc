"""Writes trained HAS, or a baseline of it, as a bundle, if the runtime encodes as torch does.

In fp32 states must agree with torch to 1e-4.  In int8 a few bits flip, those of numbers near 0:
at most one in twenty may, and the manifest states the share.  Otherwise nothing is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save
from torch import Tensor, nn

from rejoinder.bundle.folder import Bundle, Manifest
from rejoinder.errors import BundleError, MissingExtraError
from rejoinder.models.encoders.architectures import is_packed
from rejoinder.models.encoders.export import Build, export, make_inputs, write_network
from rejoinder.models.encoders.tokens import TextTokens
from rejoinder.models.has.encoder import TextEncoder
from rejoinder.models.has.module import Has, pad_texts
from rejoinder.models.has.scorer import KIND, WEIGHTS
from rejoinder.models.kernel import Matrix
from rejoinder.text.tokenizer import Tokenizer

MAX_DIFFERENCE = 1e-4
MAX_FLIPPED = 0.05
"""The share of the sample's bits that may flip in int8."""


def write_has(
    folder: Path,
    model: Has,
    tokenizer: Tokenizer,
    *,
    precision: str = "int8",
    training: Mapping[str, Any],
    sample: Sequence[str],
) -> None:
    """Write encoder, attention, tokenizer and their provenance.

    Args:
        sample: texts that torch and the runtime both encode before anything is written.

    Raises:
        BundleError: the folder cannot be written, or the sample's states differ too much.
        MissingExtraError: onnx is not installed.
        ValueError: the precision is neither fp32 nor int8.
    """
    expected = _encode_with_torch(model, tokenizer, sample)

    def compare(bundle: Bundle, precision: str) -> dict[str, Any]:
        flipped = _check(TextEncoder(bundle).encode(sample), expected, precision)
        return {"scores": {"flipped bits": round(flipped, 5)}}

    write_network(
        folder,
        Manifest(KIND, asdict(model.config), precision=precision, training=training),
        {WEIGHTS: save(_read_attention(model))},
        encoder=model.encoder,
        tokenizer=tokenizer,
        build=_make_build(model),
        compare=compare,
    )


def _read_attention(model: Has) -> dict[str, Matrix]:
    weights = {
        name: np.ascontiguousarray(value.numpy(force=True))
        for name, value in model.state_dict().items()
        if name.startswith("attention.")
    }
    return weights or {"none": np.zeros(1, dtype=np.float32)}  # an empty file looks corrupt


def _make_build(model: Has) -> Build:
    """Return a function that builds a network of inputs (P, L) and their states (P, L, D)."""
    if not is_packed(model.encoder):
        return export(_States(model), make_inputs(), "states", model.encoder)
    return partial(_build, model)


class _States(nn.Module):
    """HAS as far as the states of words, special tokens included."""

    def __init__(self, model: Has) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:  # noqa: ARG002
        return self.model.encode(ids, mask).states


def _build(model: Has, rows: Sequence[int], precision: str) -> bytes:
    try:
        from rejoinder.models.encoders.onnx_bert import add_encoder, get_inputs
        from rejoinder.models.encoders.onnx_graph import Graph
    except ImportError as error:
        raise MissingExtraError("exporting HAS", extra="train") from error
    state = {name: value.numpy(force=True) for name, value in model.state_dict().items()}
    epsilon = model.encoder.config.layer_norm_eps
    graph = Graph(state, is_int8=precision == "int8", epsilon=epsilon)
    max_tokens = model.config.max_tokens
    states = add_encoder(graph, model.encoder, np.asarray(rows), max_tokens, scope="encoder.")
    if model.project is not None:
        states = graph.linear(states, "project")
    graph.add("Identity", states, result="states")
    return graph.to_bytes(get_inputs(), "states", ["pairs", "tokens", "width"])


def _encode_with_torch(model: Has, tokenizer: Tokenizer, texts: Sequence[str]) -> list[Matrix]:
    model.eval()
    tokens = TextTokens(tokenizer, max_tokens=model.config.max_tokens)
    states = []
    with torch.inference_mode():
        for text in texts:
            padded = pad_texts([tokens.encode(text)])
            words = model.encode(padded.ids, padded.mask)
            states.append(words.states[words.mask].numpy())
    return states


def _check(actual: Sequence[Matrix], expected: Sequence[Matrix], precision: str) -> float:
    """Return the share of bits that differ, unless states in fp32, or bits, differ too much."""
    if not actual:
        return 0.0
    one, other = np.concatenate(actual), np.concatenate(expected)
    flipped = float(np.mean((one >= 0) != (other >= 0)))
    difference = float(np.abs(one - other).max(initial=0.0))
    if precision == "fp32" and not difference <= MAX_DIFFERENCE:
        raise BundleError(
            f"states in fp32 differ by {difference:.2g} without torch, more than"
            f" {MAX_DIFFERENCE:.2g}: nothing was written"
        )
    if not flipped <= MAX_FLIPPED:
        raise BundleError(
            f"in {precision} {flipped:.1%} of all bits differ from torch's, more than"
            f" {MAX_FLIPPED:.0%}: nothing was written; export in fp32 (--no-int8)"
        )
    return flipped
