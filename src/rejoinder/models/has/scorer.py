"""HAS as a scorer: the question is encoded, answers are read as stored rows.

Xu & Li 2020, "Hashing based Answer Selection".  Bound to stored rows (`bind`), the encoder
runs once per question.  A candidate without stored rows is encoded on the fly, or left to the
next stage of the cascade: its score is then not a number.  Unbound, all are encoded.
"""

import copy
import hashlib
import logging
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from rejoinder.bundle.folder import Bundle
from rejoinder.errors import StoreError
from rejoinder.models.has.compositions import COMPOSITIONS, pool
from rejoinder.models.has.encoder import TextEncoder
from rejoinder.models.onnx_session import CPU, NETWORK, VOCABULARY, Runtime
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.sidecar import Bytes, CandidateRows, StoredRows, join_rows
from rejoinder.types import Candidate, Document, to_candidates

KIND = "has"
WEIGHTS = "weights.safetensors"
PARTS = (NETWORK, VOCABULARY, WEIGHTS)
MAX_BATCH = 256
"""Sentences that are encoded together."""
MAX_NAMED = 5
"""Sentences that one warning names; all rows of a table may be too long."""

log = logging.getLogger(__name__)


class AnswerEncoder:
    """Turns sentences into the rows that are stored of them, with a bundle's encoder."""

    name = "answers"

    def __init__(self, bundle: Bundle, runtime: Runtime = CPU) -> None:
        self.folder = bundle.folder
        self.hash = hash_bundle(bundle)
        self.texts = TextEncoder(bundle, runtime)
        try:
            weights = {
                key: np.asarray(tensor, dtype=np.float32)
                for key, tensor in bundle.read_tensors().items()
            }
            make = COMPOSITIONS[str(bundle.manifest.config["composition"])]
            self.composition = make(weights, self.texts.width)
            self.row_bytes = self.composition.row_bytes
        except (OSError, KeyError) as error:
            raise bundle.refuse(f"file, setting or weight is missing: {error}") from error

    def encode(self, document: Document, context: Collection[int]) -> list[Bytes]:
        """Return the rows of each sentence, shape (rows, row_bytes); a heading has none."""
        texts = document.sentences[:]
        rows: list[Bytes] = [np.empty((0, self.row_bytes), dtype=np.uint8)] * len(texts)
        answers = [place for place in range(len(texts)) if place not in context]
        is_too_long = self.texts.tokens.is_too_long
        self._warn_of_truncation(document.id, [at for at in answers if is_too_long(texts[at])])
        for first in range(0, len(answers), MAX_BATCH):
            batch = answers[first : first + MAX_BATCH]
            encoded = self.encode_texts([texts[place] for place in batch])
            for place, own in zip(batch, encoded, strict=True):
                rows[place] = own
        return rows

    def encode_texts(self, texts: Sequence[str]) -> list[Bytes]:
        """Return the rows of each text, shape (rows, row_bytes)."""
        return [self.composition.to_rows(states) for states in self.texts.encode(texts)]

    def _warn_of_truncation(self, document: str, places: Sequence[int]) -> None:
        if places:
            unnamed = len(places) - MAX_NAMED
            log.warning(
                "%s: only the first %d tokens are stored of sentence %s%s",
                document,
                self.texts.max_tokens,
                ", ".join(str(place + 1) for place in places[:MAX_NAMED]),
                f" and {unnamed} more" if unnamed > 0 else "",
            )


class HasScorer:
    """Scores with a bundle's encoder and stored rows; safe from many threads."""

    is_pointwise = True

    def __init__(self, bundle: Bundle, runtime: Runtime = CPU) -> None:
        self.name = Path(bundle.folder).name
        self.sidecar = AnswerEncoder(bundle, runtime)
        self._leaves_missing = False
        self._rows: CandidateRows | None = None

    @property
    def is_bound(self) -> bool:
        """Whether it reads stored rows."""
        return self._rows is not None

    def bind(self, rows: CandidateRows) -> "HasScorer":
        """Return the same scorer over stored rows."""
        bound = copy.copy(self)
        bound._rows = rows
        return bound

    def without_rows(self, error: StoreError) -> None:
        """Log that its stage is left out; the index answers without it."""
        log.warning("%s is left out: %s", self.name, error)

    def leave_missing(self) -> "HasScorer":
        """Return the same scorer that does not score candidates without stored rows."""
        leaving = copy.copy(self)
        leaving._leaves_missing = True
        return leaving

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        items = to_candidates(candidates)
        scores = np.full(len(items), np.nan)
        if not items:
            return scores
        (states,) = self.sidecar.texts.encode([question])
        vector = pool(states)
        stored = self._find(items)
        known = np.flatnonzero(stored.lengths)
        if len(known):
            scores[known] = self.sidecar.composition.score(vector, stored.take(known))
        unknown = np.flatnonzero(stored.lengths == 0)
        if len(unknown) and (self._rows is None or not self._leaves_missing):
            rows = self.sidecar.encode_texts([items[place].text for place in unknown.tolist()])
            made = join_rows(rows, self.sidecar.row_bytes)
            scores[unknown] = self.sidecar.composition.score(vector, made)
        return scores

    def _find(self, candidates: Sequence[Candidate]) -> StoredRows:
        if self._rows is not None:
            return self._rows.find(candidates)
        return join_rows([np.empty((0, 1), np.uint8)] * len(candidates), self.sidecar.row_bytes)


def hash_bundle(bundle: Bundle) -> str:
    """Return a hash of all that a bundle's rows depend on."""
    manifest = bundle.manifest
    parts = [manifest.config.get("composition"), *(manifest.files.get(name) for name in PARTS)]
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]
