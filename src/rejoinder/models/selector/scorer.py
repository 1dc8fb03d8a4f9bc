"""The selector as a scorer: a cross-encoder in onnxruntime.

One pair per call, pairs spread over threads.  So there is no padding, and a score depends on its
own pair alone: int8 takes its scale over all inputs of a call, and in a batch the score of a pair
would depend on the others.
"""

import copy
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from rejoinder.bundle.folder import Bundle
from rejoinder.errors import BundleError, StoreError
from rejoinder.models.onnx_session import network_errors, open_session, refuse
from rejoinder.models.parallel import count_cores
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.page_encoder import PageEncoder, open_similarity
from rejoinder.models.selector.pair_reader import Feed, PairReader, PairTokens
from rejoinder.models.selector.similarity import Cosine
from rejoinder.models.sidecar import SidecarRows
from rejoinder.models.static_vectors.vectors import SHIPPED_VECTORS
from rejoinder.text.wordpiece import WordPiece, hash_vocabulary
from rejoinder.types import Candidate, to_candidates

KIND = "selector"
NETWORK = "model.onnx"
VOCABULARY = "vocabulary.txt"

_log = logging.getLogger(__name__)


class SelectorScorer:
    """Scores with the network of a bundle; deterministic, and safe from many threads.

    `threads` pairs are scored at once, by default as many as this process may use cores.
    """

    is_pointwise = True

    def __init__(self, bundle: Bundle, *, threads: int | None = None) -> None:
        self.name = Path(bundle.folder).name
        self._threads = threads or count_cores()
        self._pool = ThreadPoolExecutor(self._threads, "selector")
        try:
            text = bundle.read_text(VOCABULARY)
            self._pieces = WordPiece(text.split("\n")[:-1])
            self._max_tokens = int(bundle.manifest.config["max_tokens"])
            self._tokens = PairTokens(self._pieces, max_tokens=self._max_tokens)
            context = ContextConfig(**bundle.manifest.config.get("context", {}))
            network = (bundle.folder / NETWORK).read_bytes()
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise bundle.refuse(f"file, setting or word piece is missing: {error}") from error
        shipped = _read_shipped_vocabulary()
        self._reads_stored = text.startswith(shipped)
        stored = self._pieces.vocabulary[: shipped.count("\n")]
        self._stored_hash = hash_vocabulary(stored) if self._reads_stored else None
        self._has_warned = False
        similarity = open_similarity(context, bundle)
        self.sidecar: PageEncoder | None = None
        """The encoder of its page vectors; None where it reads none."""
        if isinstance(similarity, Cosine):
            self.sidecar = PageEncoder(bundle, context, similarity.vectors)
        self._reader = PairReader(self._tokens, context, similarity)
        self._session = open_session(network, bundle.folder)
        self._try_out(bundle.folder)

    def bind(self, rows: SidecarRows) -> "SelectorScorer":
        """Return the same scorer that reads stored page vectors."""
        bound = copy.copy(self)
        bound._reader = self._reader.bind(rows)
        return bound

    def without_rows(self, error: StoreError) -> "SelectorScorer":
        """Log that page vectors are computed from whole documents, and return the same scorer."""
        _log.warning("%s reads whole documents for their context: %s", self.name, error)
        return self

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        feeds = self.read(question, to_candidates(candidates))
        # Longest first, so that no thread is left alone with a long pair at the end.
        order = sorted(range(len(feeds)), key=lambda place: -feeds[place]["ids"].size)
        scores = np.empty(len(feeds), dtype=np.float64)
        scores[order] = self._run_all([feeds[place] for place in order])
        return scores

    def read(self, question: str, candidates: Sequence[Candidate]) -> list[Feed]:
        """Return the network's inputs for each candidate."""
        pieces = [self._tokenize(candidate) for candidate in candidates]
        self._warn_if_too_long(self._tokens.tokenize(question), pieces)
        return self._reader.read(question, candidates, pieces=pieces)

    @property
    def tokenizer(self) -> str | None:
        """The hash of the tokenizer whose stored tokens it reads."""
        return self._stored_hash

    def encode(self, text: str) -> bytes | None:
        """Return a text as `Candidate.tokens`, to store; None where it is not read back.

        Stored pieces are those of the shipped vectors, for all scorers.
        """
        return self._pieces.encode(text) if self._reads_stored else None

    def _tokenize(self, candidate: Candidate) -> Sequence[int]:
        if candidate.tokens is not None and self._reads_stored:
            stored = np.frombuffer(candidate.tokens, dtype="<i4")
            pieces = np.where(stored < 0, -1 - stored, stored)
            if pieces.size == 0 or pieces.max() < len(self._pieces):
                return [int(piece) for piece in pieces[: self._max_tokens]]
        return self._tokens.tokenize(candidate.text)

    def _run_all(self, feeds: Sequence[Feed]) -> list[float]:
        if self._threads == 1 or len(feeds) <= 1:
            return [self.run(feed) for feed in feeds]
        return list(self._pool.map(self.run, feeds))

    def run(self, feed: Feed) -> float:
        """Return the score of one pair."""
        return float(self._session.run(None, feed)[0][0])

    def _warn_if_too_long(
        self, question: Sequence[int], candidates: Sequence[Sequence[int]]
    ) -> None:
        if not self._has_warned and self._tokens.is_too_long(question, candidates):
            self._has_warned = True
            _log.warning(
                "%s reads %d tokens of a question and its candidate: longer candidates are"
                " truncated (this warning is shown once)",
                self.name,
                self._max_tokens,
            )

    def _try_out(self, folder: Path) -> None:
        """Score one pair, with the last piece in it: a network that opens may still be corrupt."""
        last = [len(self._pieces) - 1]
        (feed,) = self._reader.read("", [Candidate("", "")], pieces=[last])
        try:
            score = self.run(feed)
        except network_errors() as error:
            raise refuse(folder, error) from error
        if not np.isfinite(score):
            raise BundleError(f"{folder}: {NETWORK} gives a score that is not finite")


def _read_shipped_vocabulary() -> str:
    return (SHIPPED_VECTORS / VOCABULARY).read_text(encoding="utf-8")
