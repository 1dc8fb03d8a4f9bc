"""Writes trained HAS, or a baseline of it, as a bundle, if the runtime encodes as torch does.

In fp32 states must agree with torch to 1e-4.  In int8 a few bits flip, those of numbers near 0:
at most one in twenty may, and the manifest says how many did.  Else nothing is left behind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from rejoinder.bundle.folder import Manifest, open_bundle, write_bundle
from rejoinder.errors import BundleError, MissingExtraError
from rejoinder.models.encoders.loading import order_pieces
from rejoinder.models.has.encoder import NETWORK, VOCABULARY, TextEncoder, TextTokens
from rejoinder.models.has.module import Has, pad_texts
from rejoinder.models.has.scorer import KIND, WEIGHTS
from rejoinder.models.kernel import Matrix
from rejoinder.models.selector.export import PRECISIONS, SIZES
from rejoinder.text.wordpiece import WordPiece

LARGEST_DIFFERENCE = 1e-4
MOST_FLIPPED = 0.05
"""Of all bits of the sample, in int8."""


def write_has(
    folder: Path,
    model: Has,
    vocabulary: Sequence[str],
    *,
    precision: str = "int8",
    training: Mapping[str, Any],
    scores: Mapping[str, Any],
    sample: Sequence[str],
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """Write encoder, attention, vocabulary and where they come from.

    Args:
        vocabulary: the word piece of each row of the encoder's embedding.
        sample: texts that torch and the runtime both encode before anything is written.
        files: what else goes into the bundle, by name: its card, for one.

    Raises:
        BundleError: the folder cannot be written, or what the sample becomes differs too much.
        MissingExtraError: onnx is not installed.
        ValueError: the precision is neither fp32 nor int8.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision {precision!r} is none of {', '.join(PRECISIONS)}")
    from safetensors.numpy import save

    rows = order_pieces(vocabulary)
    bert = {name: getattr(model.encoder.config, name) for name in SIZES}
    config = {**asdict(model.config), "bert": bert}
    expected = _encode_with_torch(model, vocabulary, sample)
    contents = {
        VOCABULARY: "".join(f"{vocabulary[row]}\n" for row in rows).encode(),
        WEIGHTS: save(_read_attention(model)),
        **files,
    }
    flipped = 0.0
    for tried in dict.fromkeys(("fp32", precision)):  # int8 of a wrong network proves nothing
        contents[NETWORK] = _build(model, rows, tried)
        found = _encode_with_runtime(Manifest(KIND, config), contents, sample)
        flipped = _check(found, expected, tried)
    manifest = Manifest(
        KIND,
        config,
        precision=precision,
        training=training,
        scores={**scores, "flipped bits": round(flipped, 5)},
    )
    write_bundle(folder, manifest, contents)


def _read_attention(model: Has) -> dict[str, Matrix]:
    found = {
        name: np.ascontiguousarray(value.detach().numpy())
        for name, value in model.state_dict().items()
        if name.startswith("attention.")
    }
    return found or {"none": np.zeros(1, dtype=np.float32)}  # an empty file cannot be told torn


def _build(model: Has, rows: Sequence[int], precision: str) -> bytes:
    try:
        from rejoinder.models.has.export_graph import build_encoder
    except ImportError as error:
        raise MissingExtraError("exporting HAS", extra="train") from error
    return build_encoder(model, rows, precision=precision)


def _encode_with_torch(model: Has, vocabulary: Sequence[str], texts: Sequence[str]) -> list[Matrix]:
    model.eval()
    tokens = TextTokens(WordPiece(vocabulary), max_tokens=model.config.max_tokens)
    found = []
    with torch.inference_mode():
        for text in texts:
            given = pad_texts([tokens.cut(text)])
            words = model.encode(given.ids, given.mask)
            found.append(words.states[words.mask].numpy())
    return found


def _encode_with_runtime(
    manifest: Manifest, contents: Mapping[str, bytes], texts: Sequence[str]
) -> list[Matrix]:
    with TemporaryDirectory() as place:
        trial = Path(place, "trial")
        write_bundle(trial, manifest, contents)
        encoder = TextEncoder(open_bundle(trial))
    return encoder.encode(texts)


def _check(found: Sequence[Matrix], expected: Sequence[Matrix], precision: str) -> float:
    """Return the share of bits that differ.

    Raises:
        BundleError: states in fp32, or bits in int8, differ too much.
    """
    if not found:
        return 0.0
    one, other = np.concatenate(found), np.concatenate(expected)
    flipped = float(np.mean((one >= 0) != (other >= 0)))
    difference = float(np.abs(one - other).max(initial=0.0))
    if precision == "fp32" and not difference <= LARGEST_DIFFERENCE:
        raise BundleError(
            f"states in fp32 differ by {difference:.2g} without torch, more than"
            f" {LARGEST_DIFFERENCE:.2g}: nothing was written"
        )
    if not flipped <= MOST_FLIPPED:
        raise BundleError(
            f"in {precision} {flipped:.1%} of all bits differ from torch's, more than"
            f" {MOST_FLIPPED:.0%}: nothing was written; export in fp32"
        )
    return flipped
