"""A pretrained transformer as a sentence encoder.

It reads `title. heading. sentence`, because a sentence often leaves out its topic.
"""

import hashlib
from collections.abc import Sequence
from functools import partial

import numpy as np

from rejoinder.bundle.folder import Bundle
from rejoinder.documents.passages import Passage
from rejoinder.models.encoders.network import open_network, read_pooled
from rejoinder.models.encoders.tokens import TextTokens, open_tokenizer
from rejoinder.models.onnx_session import (
    CPU,
    FOREIGN,
    NETWORK,
    Feed,
    Runtime,
    refuse_corrupt,
    to_feed,
)
from rejoinder.models.sentence_encoder.encoder import Matrix, Vector
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.text.wordpiece import WordPiece

KIND = "transformer-encoder"
SMALLEST = 1e-12
"""The smallest length that a vector is divided by."""


class TransformerEncoder:
    """Encodes texts with the network of a bundle; safe from many threads."""

    min_cosine = 0.0
    tokenizer = None
    """It reads texts: an index may store the tokens of another vocabulary."""

    def __init__(self, bundle: Bundle, runtime: Runtime = CPU) -> None:
        self.folder = bundle.folder
        config = bundle.manifest.config
        self._pooling = str(config.get("pooling")) if FOREIGN in config else None
        checksum = bundle.manifest.files.get(NETWORK, "")
        if self._pooling:  # it is no part of the network
            checksum = hashlib.sha256(f"{checksum} {self._pooling}".encode()).hexdigest()
        self.hash = checksum[:16]
        tokenizer = self._tokenizer = open_tokenizer(bundle)
        self.vocabulary = _list_pieces(tokenizer)
        """The word pieces of `encode_pieces`, without special tokens."""
        try:
            self.question_prefix = str(config.get("question_prefix", ""))
            self._tokens = TextTokens(tokenizer, max_tokens=int(config["max_tokens"]))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise bundle.refuse(f"file, setting or word piece is missing: {error}") from error
        self._network = open_network(
            bundle, runtime, partial(read_pooled, str(config.get("pooling")))
        )
        with refuse_corrupt(bundle.folder, self._network.name):
            # A network that opens may still be corrupt.
            shape = self._encode_all([to_feed(self._tokens.encode("a"))])[0].shape
        if len(shape) != 1 or not shape[0] or shape[0] % 64:
            raise bundle.refuse(
                f"{self._network.name} returns a vector of shape {shape}; its width must be a"
                " multiple of 64"
            )
        (self.width,) = shape

    def encode(self, text: str) -> Vector:
        """Return the vector of a text, of length 1."""
        vector: Vector = self._encode_all([to_feed(self._tokens.encode(text))])[0]
        return vector

    def encode_pieces(self) -> Matrix:
        """Return the vector of each word piece by itself, shape (vocabulary, width)."""
        first, _, last = self._tokenizer.frame
        feeds = []
        for id_, piece in enumerate(self.vocabulary):
            # Another tokenizer has no ids for word pieces, and reads their text.
            own = isinstance(self._tokenizer, WordPiece)
            ids = [id_] if own else self._tokenizer.to_ids(piece.removeprefix("##"))
            feeds.append(to_feed([*first, *ids, *last]))
        return self._encode_all(feeds)

    def encode_question(self, question: str) -> Vector:
        """Return the vector of a question, of length 1."""
        return self.encode(self.question_prefix + question)

    def encode_passages(self, title: str, passages: Sequence[Passage]) -> Matrix:
        """Return the vectors of the sentences of one document, shape (passages, width)."""
        texts = [_join(title, passage) for passage in passages]
        vectors = self._encode_all([to_feed(self._tokens.encode(text)) for text in texts])
        return vectors.reshape(len(passages), self.width)

    def _encode_all(self, feeds: Sequence[Feed]) -> Matrix:
        """Return the vectors of texts; states of an imported network are pooled here."""
        found = self._network.run_all(feeds)
        if self._pooling:
            found = [
                _pool(np.asarray(output, dtype=np.float32), feed["ids"].shape[1], self._pooling)
                for output, feed in zip(found, feeds, strict=True)
            ]
        return np.array(found, dtype=np.float32)


def _list_pieces(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the word pieces of a tokenizer, or the shipped ones where it has others."""
    if isinstance(tokenizer, WordPiece):
        return tokenizer.vocabulary[:-2]  # [CLS] and [SEP] are last
    return tuple(load_vectors().vocabulary)


def _pool(output: Matrix, tokens: int, pooling: str) -> Vector:
    """Return the vector, of length 1, of a text's states, or of a vector."""
    if output.ndim == 2:
        output = output[0] if pooling == "first" else output[:tokens].mean(axis=0)
    vector: Vector = output / max(float(np.linalg.norm(output)), SMALLEST)
    return vector


def _join(title: str, passage: Passage) -> str:
    """Return a sentence after its title and its innermost heading."""
    above = dict.fromkeys(filter(None, [title, *passage.headings[-1:]]))
    return ". ".join([*above, passage.sentence.text])
