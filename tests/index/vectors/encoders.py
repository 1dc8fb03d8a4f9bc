"""A sentence encoder for tests: hashed bags of words, without a bundle."""

import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from rejoinder.documents.passages import Passage
from rejoinder.models.sentence_encoder.encoder import Matrix, Vector


class HashedWords:
    """Gives each word a random direction; a text's vector is their sum."""

    tokenizer = None
    min_cosine = 0.0

    def __init__(self, width: int = 64, *, seed: int = 0, folder: Path = Path("hashed")) -> None:
        self.width = width
        self.folder = folder
        self.hash = f"hashed-{width}-{seed}"
        self.encoded = 0
        """How many sentences were encoded."""
        self.largest = 0
        """The most sentences that were encoded together."""
        self._seed = seed
        self._directions: dict[str, Vector] = {}

    def encode_question(self, question: str) -> Vector:
        return self._sum(question.lower().split())

    def encode_passages(self, title: str, passages: Sequence[Passage]) -> Matrix:
        self.encoded += len(passages)
        self.largest = max(self.largest, len(passages))
        texts = (passage.sentence.text.lower().rstrip(".") for passage in passages)
        return np.stack([self._sum(text.split()) for text in texts])

    def _sum(self, words: Iterable[str]) -> Vector:
        total = np.zeros(self.width, dtype=np.float32)
        for word in words:
            if word not in self._directions:
                rng = np.random.default_rng([self._seed, zlib.crc32(word.encode())])
                self._directions[word] = rng.standard_normal(self.width).astype(np.float32)
            total += self._directions[word]
        length = float(np.linalg.norm(total))
        return total / length if length else total
