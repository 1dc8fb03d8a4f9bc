"""A transformer that gives a sentence a vector, in onnxruntime: one sentence per call."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.onnx_session import open_session
from rejoinder.models.parallel import count_cores
from rejoinder.text.wordpiece import CLS, SEP, WordPiece

MAX_TOKENS = 128
"""What is longer is cut at its end."""


class SentenceEncoder:
    """Encodes with a network that gives the mean state of a text, of length 1."""

    def __init__(
        self, network: bytes, vocabulary: Sequence[str], folder: Path, *, threads: int | None = None
    ) -> None:
        self._pieces = WordPiece(vocabulary)
        self._marks = [self._pieces.vocabulary.index(mark) for mark in (CLS, SEP)]
        self._session = open_session(network, folder)
        self._pool = ThreadPoolExecutor(threads or count_cores(), "sentence-encoder")
        self.width = int(self._session.get_outputs()[0].shape[1])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text, (texts, width)."""
        rows = list(self._pool.map(self._encode, texts))
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.width)

    def _encode(self, text: str) -> NDArray[np.float32]:
        first, last = self._marks
        pieces = [piece for word in self._pieces.tokenize(text) for piece in word]
        ids = np.array([[first, *pieces[: MAX_TOKENS - 2], last]], dtype=np.int64)
        feed = {"ids": ids, "mask": np.ones_like(ids), "kinds": np.zeros_like(ids)}
        return np.asarray(self._session.run(None, feed)[0][0], dtype=np.float32)
