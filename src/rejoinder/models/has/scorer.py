"""HAS as a scorer: the question is encoded, answers are read as they were stored.

Xu & Li 2020, "Hashing based Answer Selection".  Bound to a store of answers (`bind`), the encoder
runs once per question.  A candidate that the store does not have is encoded on the fly,
or left to the next stage of the cascade: its score is then not a number.  Without a store
all are encoded.
"""

import copy
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from rejoinder.bundle.folder import Bundle
from rejoinder.errors import BundleError
from rejoinder.models.has.compositions import COMPOSITIONS, pool
from rejoinder.models.has.encoder import NETWORK, VOCABULARY, TextEncoder
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.stored_rows import AnswerRows, Bytes, StoredRows, join_rows
from rejoinder.types import Candidate, to_candidates

KIND = "has"
WEIGHTS = "weights.safetensors"
PARTS = (NETWORK, VOCABULARY, WEIGHTS)
Missing = Literal["encode", "leave"]
MISSING: tuple[Missing, ...] = ("encode", "leave")


class AnswerEncoder:
    """Turns answers into the rows that are stored of them: a bundle's encoder and composition."""

    def __init__(self, bundle: Bundle, *, threads: int | None = None) -> None:
        self.folder = bundle.folder
        self.hash = hash_bundle(bundle)
        self.texts = TextEncoder(bundle, threads=threads)
        try:
            weights = {
                key: np.asarray(tensor, dtype=np.float32)
                for key, tensor in bundle.read_tensors().items()
            }
            make = COMPOSITIONS[bundle.manifest.config["composition"]]
            self.composition = make(weights, self.texts.width)
        except (OSError, KeyError) as error:
            problem = f"file, setting or weight is missing: {error}"
            raise BundleError(f"{bundle.folder}: {problem}; export the bundle again") from error

    @property
    def row_bytes(self) -> int:
        """The length of a row."""
        return self.composition.row_bytes

    def encode(self, texts: Sequence[str]) -> list[Bytes]:
        """Return the rows of each text, shape (rows, row_bytes)."""
        return [self.composition.to_rows(states) for states in self.texts.encode(texts)]


class HasScorer:
    """Scores with a bundle's encoder and the answers of a store; safe from many threads."""

    is_pointwise = True

    def __init__(
        self, bundle: Bundle, *, threads: int | None = None, missing: Missing = "encode"
    ) -> None:
        self.name = Path(bundle.folder).name
        self.encoder = AnswerEncoder(bundle, threads=threads)
        self._missing = missing
        self._answers: AnswerRows | None = None

    def bind(self, answers: AnswerRows | None) -> "HasScorer":
        """Return the same scorer that reads answers from a store."""
        bound = copy.copy(self)
        bound._answers = answers
        return bound

    def leave_missing(self) -> "HasScorer":
        """Return the same scorer that does not score what its store does not have."""
        leaving = copy.copy(self)
        leaving._missing = "leave"
        return leaving

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        items = to_candidates(candidates)
        scores = np.full(len(items), np.nan)
        if not items:
            return scores
        (asked,) = self.encoder.texts.encode([question])
        vector = pool(asked)
        stored = self._find(items)
        known = np.flatnonzero(stored.lengths)
        if len(known):
            scores[known] = self.encoder.composition.score(vector, stored.take(known))
        unknown = np.flatnonzero(stored.lengths == 0)
        if len(unknown) and (self._missing == "encode" or self._answers is None):
            rows = self.encoder.encode([items[place].text for place in unknown.tolist()])
            made = join_rows(rows, self.encoder.row_bytes)
            scores[unknown] = self.encoder.composition.score(vector, made)
        return scores

    def _find(self, candidates: Sequence[Candidate]) -> StoredRows:
        if self._answers is not None:
            return self._answers.find(candidates)
        return join_rows([np.empty((0, 1), np.uint8)] * len(candidates), self.encoder.row_bytes)


def hash_bundle(bundle: Bundle) -> str:
    """Return what tells a bundle's answers from those of every other; its card does not count."""
    manifest = bundle.manifest
    told = [manifest.config.get("composition"), *(manifest.files.get(name) for name in PARTS)]
    return hashlib.sha256("\n".join(map(str, told)).encode()).hexdigest()[:16]
