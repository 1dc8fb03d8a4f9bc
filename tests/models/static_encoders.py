"""Static sentence encoders over a few words, whose vectors can be computed by hand."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from rejoinder.bundle.folder import open_bundle
from rejoinder.documents.parsed import Sentence
from rejoinder.documents.passages import Passage
from rejoinder.models.sentence_encoder.encoder import Matrix
from rejoinder.models.sentence_encoder.static import PartWeights, StaticEncoder

WIDTH = 64
PIECES = ["[UNK]", "tea", "is", "hot", "cold", "milk", "green", "how", "##s"]
WEIGHTS = PartWeights(title=0.5, heading=0.25, outer=0.125, neighbour=0.0625)


def make_table(count: int = len(PIECES), width: int = WIDTH) -> Matrix:
    """Return a table in which each word piece has an axis of its own."""
    return np.eye(count, width, dtype=np.float32)


def write_static(
    folder: Path,
    *,
    table: Matrix | None = None,
    gains: Matrix | None = None,
    weights: PartWeights = WEIGHTS,
    vocabulary: Sequence[str] = PIECES,
) -> Path:
    """Write a static encoder as a bundle; return the folder."""
    pytest.importorskip("torch")
    from rejoinder.models.sentence_encoder.export import write_static_encoder

    table = make_table() if table is None else table
    gains = np.ones(len(table), np.float32) if gains is None else gains
    write_static_encoder(
        folder, vocabulary, table, gains, weights, training={"data": ["none"]}, card="a card"
    )
    return folder


def open_static(folder: Path) -> StaticEncoder:
    """Return the encoder of a bundle."""
    return StaticEncoder(open_bundle(folder))


def make_sentence(text: str, position: int = 0) -> Sentence:
    """Return a sentence at a position."""
    return Sentence(position, text, 0, len(text))


def make_passage(
    text: str,
    *,
    headings: Sequence[str] = (),
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> Passage:
    """Return a sentence after and before others."""
    sentences = [make_sentence(given, place) for place, given in enumerate([*before, text, *after])]
    at = len(before)
    return Passage(
        sentences[at], tuple(headings), tuple(sentences[:at]), tuple(sentences[at + 1 :])
    )
