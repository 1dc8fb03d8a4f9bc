"""A transformer in onnxruntime that gives each word piece of a text a vector.

One text per call, calls spread over threads: no padding, and what a text becomes depends on
nothing but the text.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.bundle.folder import Bundle
from rejoinder.errors import BundleError
from rejoinder.models.kernel import Matrix
from rejoinder.models.onnx_session import network_errors, open_session, refuse
from rejoinder.models.parallel import count_cores, spread
from rejoinder.text.wordpiece import CLS, SEP, WordPiece

NETWORK = "model.onnx"
VOCABULARY = "vocabulary.txt"


class TextTokens:
    """Cuts a text into what the network reads: its word pieces between two marks."""

    def __init__(self, pieces: WordPiece, *, max_tokens: int) -> None:
        self._pieces = pieces
        self._marks = tuple(pieces.vocabulary.index(mark) for mark in (CLS, SEP))
        self._room = max_tokens - len(self._marks)

    def cut(self, text: str) -> list[int]:
        """Return the ids of a text, cut at its end where it is too long.

        A text without a word reads as one unknown word, so that it has a vector too.
        """
        first, last = self._marks
        return [first, *self._cut_all(text)[: self._room], last]

    def is_too_long(self, text: str) -> bool:
        """Return whether the end of a text would be cut off."""
        # Most texts need not be cut to be told short: a piece has a letter at least.  That of
        # another script may be taken apart first, as Korean syllables are.
        is_surely_short = text.isascii() and len(text) <= self._room
        return not is_surely_short and len(self._cut_all(text)) > self._room

    def _cut_all(self, text: str) -> list[int]:
        found = [piece for word in self._pieces.tokenize(text) for piece in word]
        return found or [self._pieces.unknown]


class TextEncoder:
    """Encodes texts with the network of a bundle; safe from many threads."""

    def __init__(self, bundle: Bundle, *, threads: int | None = None) -> None:
        self._threads = threads or count_cores()
        try:
            vocabulary = bundle.read_text(VOCABULARY).split("\n")[:-1]
            self.max_tokens = int(bundle.manifest.config["max_tokens"])
            self.tokens = TextTokens(WordPiece(vocabulary), max_tokens=self.max_tokens)
            network = (bundle.folder / NETWORK).read_bytes()
        except (OSError, KeyError, ValueError) as error:
            problem = f"file, setting or word piece is missing: {error}"
            raise BundleError(f"{bundle.folder}: {problem}; export the bundle again") from error
        self._session = open_session(network, bundle.folder)
        try:  # a network that opens may still be torn
            (states,) = self.encode([""])
        except network_errors() as error:
            raise refuse(bundle.folder, error) from error
        self.width = states.shape[1]

    def encode(self, texts: Sequence[str]) -> list[Matrix]:
        """Return the vectors of each text's word pieces, without the marks, shape (N, D)."""
        return spread(self._encode, texts, threads=self._threads)

    def _encode(self, text: str) -> Matrix:
        states = self._session.run(None, to_feed(self.tokens.cut(text)))[0][0]
        return np.asarray(states[1:-1], dtype=np.float32)


def to_feed(ids: Sequence[int]) -> dict[str, NDArray[np.int64]]:
    """Return a text as the network's inputs."""
    row = np.array([ids], dtype=np.int64)
    return {"ids": row, "mask": np.ones_like(row), "kinds": np.zeros_like(row)}
