"""Distils static word vectors from a transformer encoder.

Each piece of the encoder's vocabulary is encoded by itself, with model2vec; the results are reduced
by principal components and quantised to int8 with one scale per row.  No text is needed, and the
result is deterministic: two runs on one machine give the same bytes.

Words are always split into word pieces.  An encoder with another tokenizer encodes the text of each
shipped word piece instead.

model2vec's down-weighting of frequent pieces is left out: vectors of words are scaled to
length 1 anyway, and on WikiQA dev it made no difference (docs/models/rankers.md).
"""

import os
import time
from pathlib import Path

import numpy as np

from rejoinder.bundle.folder import Manifest, write_bundle
from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.encoders.loading import DEFAULT, find_encoder, load_tokenizer
from rejoinder.models.static_vectors.vectors import (
    KIND,
    Matrix,
    StaticVectors,
    load_vectors,
    quantise_rows,
    to_files,
)
from rejoinder.text.wordpiece import WordPiece

MAX_TOKENS = 64
"""Tokens of a word piece, which few encoders split at all."""
BATCH = 256


def distil_vectors(
    encoder: str = DEFAULT, *, width: int = 256, device: str | None = None
) -> StaticVectors:
    """Return the vectors of an encoder's word pieces, or of the shipped ones.

    Args:
        device: where torch runs the encoder; the fastest of this machine by default.

    Raises:
        InputError: the encoder cannot be found or loaded.
        MissingExtraError: model2vec is not installed.
    """
    if not isinstance(load_tokenizer(encoder), WordPiece):
        return _distil_texts(encoder, width, device)
    try:
        from model2vec.distill import distill
    except ImportError as error:
        raise MissingExtraError("distilling vectors", extra="train") from error
    try:
        source = find_encoder(encoder)
        model = distill(source, pca_dims=width, sif_coefficient=None, device=device)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{encoder}: cannot be loaded as an encoder: {reason}") from error
    matrix = np.asarray(model.embedding, dtype=np.float32)
    return StaticVectors(model.tokens, *quantise_rows(matrix), are_pieces=True)


def _distil_texts(encoder: str, width: int, device: str | None) -> StaticVectors:
    """Return the vectors of the shipped word pieces, encoded as texts."""
    import torch

    from rejoinder.models.encoders.export import PooledEncoder
    from rejoinder.models.encoders.loading import load_encoder
    from rejoinder.models.encoders.tokens import TextTokens
    from rejoinder.models.onnx_session import pad, to_feed

    model, tokenizer = load_encoder(encoder)
    pooled = PooledEncoder(model, "mean").eval().to(device)
    tokens = TextTokens(tokenizer, max_tokens=MAX_TOKENS)
    pieces = load_vectors().vocabulary
    feeds = [to_feed(tokens.encode(piece.removeprefix("##"))) for piece in pieces]
    rows = []
    with torch.inference_mode():
        for start in range(0, len(feeds), BATCH):
            batch = pad(feeds[start : start + BATCH])
            inputs = {name: torch.from_numpy(value).to(device) for name, value in batch.items()}
            rows.append(pooled(**inputs).numpy(force=True))
    reduced = _reduce(np.concatenate(rows), width)
    return StaticVectors(pieces, *quantise_rows(reduced), are_pieces=True)


def _reduce(matrix: Matrix, width: int) -> Matrix:
    """Return the first principal components of rows."""
    centred = matrix - matrix.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)  # in ascending order
    return np.asarray(centred @ axes[:, ::-1][:, :width], dtype=np.float32)


def write_vectors(
    folder: Path,
    encoder: str = DEFAULT,
    *,
    width: int = 256,
    device: str | None = None,
    command: str = "",
) -> StaticVectors:
    """Distil vectors and write them as a bundle."""
    start = time.perf_counter()
    vectors = distil_vectors(encoder, width=width, device=device)
    manifest = Manifest(
        KIND,
        {"are_pieces": True, "width": vectors.width, "encoder": encoder},
        precision="int8",
        tolerance=0.0,
        training={
            "data": "none: each word piece is run through the encoder by itself",
            **({"command": command} if command else {}),
            "seconds": round(time.perf_counter() - start, 1),
            "threads": os.cpu_count(),
        },
    )
    files = {"README.md": _make_card(encoder, vectors).encode(), **to_files(vectors)}
    write_bundle(folder, manifest, files)
    return vectors


def _make_card(encoder: str, vectors: StaticVectors) -> str:
    return f"""# Static word vectors

{len(vectors.vocabulary):,} word pieces, {vectors.width} numbers each, int8 with one scale per row.
A word is the mean of its pieces, scaled to length 1.

- **Made from** the encoder {encoder}, whose every word piece was run through it alone, by
  model2vec (`distill`, principal components, no frequency weighting). No text was used.
- **Command**: `rejoinder train static-vectors --to DIR` (extra `train`); two runs give the same
  bytes.
- **Licence**: that of the encoder. all-MiniLM-L6-v2 is Apache-2.0 (sentence-transformers); it
  was itself trained on over a billion pairs of public text, among them Reddit, S2ORC, WikiAnswers,
  Stack Exchange, MS MARCO, Yahoo Answers, Natural Questions and SQuAD 2.0, in part under
  licences of their own.
- **Use**: the word vectors of the small rankers. **Limits**: English; a word has one vector
  whatever its sense.
"""
