"""A transformer in onnxruntime that returns a vector for each word piece of a text."""

from collections.abc import Sequence

import numpy as np

from rejoinder.bundle.folder import Bundle
from rejoinder.models.kernel import Matrix
from rejoinder.models.onnx_session import (
    CPU,
    NETWORK,
    VOCABULARY,
    OnnxNetwork,
    Runtime,
    refuse_corrupt,
    to_feed,
)
from rejoinder.text.wordpiece import CLS, SEP, WordPiece


class TextTokens:
    """Tokenises a text for the network: [CLS], its word pieces, [SEP]."""

    def __init__(self, pieces: WordPiece, *, max_tokens: int) -> None:
        self._pieces = pieces
        self._cls, self._sep = (pieces.vocabulary.index(token) for token in (CLS, SEP))
        self._room = max_tokens - 2

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, truncated where it is too long.

        A text without a word becomes one unknown token, so that it has a vector too.
        """
        return [self._cls, *self._tokenize(text)[: self._room], self._sep]

    def is_too_long(self, text: str) -> bool:
        """Return whether the end of a text would be truncated."""
        # Most texts are short, which their length tells: a piece has at least one letter.  A
        # letter of other scripts may become several pieces, as Korean syllables do.
        is_surely_short = text.isascii() and len(text) <= self._room
        return not is_surely_short and len(self._tokenize(text)) > self._room

    def _tokenize(self, text: str) -> list[int]:
        ids = [piece for word in self._pieces.tokenize(text) for piece in word]
        return ids or [self._pieces.unknown]


class TextEncoder:
    """Encodes texts with the network of a bundle; safe from many threads."""

    def __init__(self, bundle: Bundle, runtime: Runtime = CPU) -> None:
        try:
            vocabulary = bundle.read_text(VOCABULARY).split("\n")[:-1]
            self.max_tokens = int(bundle.manifest.config["max_tokens"])
            self.tokens = TextTokens(WordPiece(vocabulary), max_tokens=self.max_tokens)
            network = (bundle.folder / NETWORK).read_bytes()
        except (OSError, KeyError, ValueError) as error:
            raise bundle.refuse(f"file, setting or word piece is missing: {error}") from error
        self._network = OnnxNetwork(network, bundle.folder, runtime)
        with refuse_corrupt(bundle.folder):  # a network that opens may still be corrupt
            (states,) = self.encode([""])
        self.width = states.shape[1]

    def encode(self, texts: Sequence[str]) -> list[Matrix]:
        """Return the vectors of each text's word pieces, without [CLS] and [SEP], shape (N, D)."""
        tokens = [self.tokens.encode(text) for text in texts]
        states = self._network.run_all([to_feed(ids) for ids in tokens])
        return [
            np.asarray(own[1 : len(ids) - 1], dtype=np.float32)  # padding follows
            for ids, own in zip(tokens, states, strict=True)
        ]
