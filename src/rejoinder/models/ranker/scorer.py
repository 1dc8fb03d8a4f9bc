"""A trained small ranker as a scorer: words to rows, pairs to vectors, lists to scores."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.bundle.folder import Bundle
from rejoinder.models.kernel import Ids, Kernel, Linear, Matrix, load_kernel
from rejoinder.models.parallel import spread
from rejoinder.models.ranker.heads import make_head
from rejoinder.models.ranker.network import Network, PairArrays, Weights
from rejoinder.models.ranker.word_table import PIECE_BYTES, WordRows, WordTables
from rejoinder.models.scorer import Candidates, Scores, find_segments
from rejoinder.models.static_vectors.vectors import read_vectors
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Candidate, to_candidates

MAX_WORDS = 512
"""Words of a question or candidate after this many are ignored, in training too."""

MIN_CANDIDATES_PER_THREAD = 200
"""With fewer candidates, a thread takes longer to start than to work."""


class RankerScorer:
    """Scores with the weights of a bundle; deterministic and thread-safe.

    `network` is the numpy network of the bundle's family.
    A long list is spread over up to `threads` threads; scores do not depend on it.
    `compiled=False` ignores the compiled kernel.
    """

    def __init__(
        self, bundle: Bundle, network: type[Network], *, threads: int = 1, compiled: bool = True
    ) -> None:
        manifest = bundle.manifest
        self.name = Path(bundle.folder).name
        self._threads = threads
        self._kernel = kernel = load_kernel() if compiled else None
        weights = {key: tensor.astype(np.float32) for key, tensor in bundle.read_tensors().items()}
        self._vectors = read_vectors(bundle)
        try:
            self._network = network(_strip_prefix("encoder.", weights), kernel)
            head = str(manifest.config["head"])
            self._head = make_head(head, _strip_prefix("head.", weights), kernel)
            self._output = Linear(weights["output.weight"].T, weights["output.bias"], kernel)
            self._context = find_context(manifest.config)
            reads_context = self._context != "none"
            self._context_weight = weights["around.weight"][0] if reads_context else None
            self._tables = WordTables(
                self._vectors, self._network.precompute, self._network.precomputed_width
            )
            # Weights that can be read may still not fit together.
            self.score("a b", ["a b", "b"])
        except KeyError as error:
            raise bundle.refuse(f"weight or setting {error} is missing") from error
        except (ValueError, TypeError, IndexError, AssertionError) as error:
            raise bundle.refuse(f"weights do not fit together ({error})") from error
        self.is_pointwise = head == "none"

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        given = to_candidates(candidates)
        scores = np.empty(len(given), dtype=np.float64)
        if not given:
            return scores
        segments = find_segments(given)
        order = [place for segment in segments for place in segment]
        words = self._get_rows(question, [given[place] for place in order])
        lengths = np.array([len(segment) for segment in segments], dtype=np.int64)
        parts = _split_evenly(len(given), self._threads)
        projected = spread(partial(self._encode, words), parts, threads=len(parts))
        read = self._head.read(np.concatenate(projected), lengths, threads=len(parts))
        scores[order] = self._output(read)[:, 0]
        if self._context_weight is not None:
            from rejoinder.models.ranker.relatedness import get_context_features

            features = get_context_features(question, given, self._relate, self._context)
            scores += (features * self._context_weight).sum(axis=1)
        return scores

    def encode(self, text: str) -> bytes | None:
        """Return a text as `Candidate.tokens`; None if the vectors are of whole words."""
        return self._vectors.encode(text)

    @property
    def tokenizer(self) -> str | None:
        """The hash of the tokenizer whose stored tokens it reads."""
        return self._vectors.pieces.hash if self._vectors.pieces else None

    def _encode(self, words: WordRows, part: slice) -> Matrix:
        """Return the head's input for some of the candidates."""
        pairs = self._network.encode(_to_pairs(words, part, self._kernel))
        return self._head.project(pairs)

    def _relate(self, question: Sequence[str], texts: Sequence[Sequence[str]]) -> Matrix:
        """Return the mean relatedness of the question's words to each text; none may be empty."""
        words = self._tables.get_rows([question, *texts])
        pairs = _to_pairs(words, slice(0, len(texts)), self._kernel)
        means: Matrix = pairs.related_question.mean(axis=1)
        return means

    def _get_rows(self, question: str, candidates: Sequence[Candidate]) -> WordRows:
        """Return the rows of all words, read from stored tokens where they say enough."""
        words = pretokenize(question)[:MAX_WORDS]
        stored = [candidate.tokens for candidate in candidates]
        readable = self._find_readable(stored)
        others = {
            place: pretokenize(candidates[place].text)[:MAX_WORDS]
            for place in range(len(candidates))
            if place not in readable
        }
        if not readable:
            return self._tables.get_rows([words, *others.values()])
        return self._tables.get_rows_of_tokens(words, [own or b"" for own in stored], others)

    def _find_readable(self, stored: Sequence[bytes | None]) -> Collection[int]:
        """Return the places of the texts whose words can be read from stored tokens."""
        can_read, most = self._vectors.can_read, PIECE_BYTES * MAX_WORDS
        kept = {at: own for at, own in enumerate(stored) if own is not None and len(own) <= most}
        if can_read(b"".join(kept.values())):  # nearly always, and one look instead of many
            return kept.keys()
        return [at for at, own in kept.items() if can_read(own)]


def find_context(settings: Mapping[str, Any]) -> str:
    """Return the form of context that a bundle reads; it was true when there was one form."""
    form = settings.get("context", "none")
    return "neighbours" if form is True else str(form)


def _split_evenly(count: int, parts: int) -> list[slice]:
    """Return slices that cover a list: at most `parts`, none too short for a thread."""
    parts = max(1, min(parts, count // MIN_CANDIDATES_PER_THREAD))
    bounds = [count * part // parts for part in range(parts + 1)]
    return [slice(*pair) for pair in pairwise(bounds)]


def _to_pairs(words: WordRows, part: slice, kernel: Kernel | None) -> PairArrays:
    """Return the pairs of the question and some of the candidates."""
    table, rows, all_lengths = words
    lengths = all_lengths[1:][part]
    first = int(all_lengths[: part.start + 1].sum())
    question, ids = rows[: all_lengths[0]], rows[first : first + int(lengths.sum())]
    if kernel is not None:
        related = kernel.max_relatedness(table.vectors, question, ids, lengths)
    else:
        from rejoinder.models.ranker.relatedness import max_relatedness

        distinct, numbers = _number_distinct(ids, len(table.vectors))
        cosines = table.vectors[question] @ table.vectors[distinct].T
        related = max_relatedness(cosines, numbers, lengths)
    return PairArrays(table.vectors, question, ids, lengths, *related, table.precomputed)


def _number_distinct(ids: Ids, count: int) -> tuple[Ids, Ids]:
    """Return the distinct ids below `count` and each id's number among them, without sorting."""
    is_used = np.zeros(count, dtype=bool)
    is_used[ids] = True
    distinct = np.flatnonzero(is_used)
    numbers = np.empty(count, dtype=np.int64)
    numbers[distinct] = np.arange(len(distinct))
    return distinct, numbers[ids]


def _strip_prefix(prefix: str, weights: Weights) -> Weights:
    """Return the weights whose names begin with the prefix, without it."""
    names = [name for name in weights if name.startswith(prefix)]
    return {name.removeprefix(prefix): weights[name] for name in names}
