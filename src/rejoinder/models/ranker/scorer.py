"""A trained small ranker as a scorer: words to rows, pairs to vectors, the list to scores."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from rejoinder.bundle.folder import Bundle
from rejoinder.models.kernel import Kernel, load_kernel
from rejoinder.models.ranker.heads import make_head
from rejoinder.models.ranker.pairs import Ids, Matrix, Network, Pairs, Weights
from rejoinder.models.ranker.product import Product
from rejoinder.models.ranker.relatedness import take_closest
from rejoinder.models.ranker.surroundings import relate_surroundings
from rejoinder.models.ranker.word_table import WordRows, WordTables
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.segments import find_segments
from rejoinder.models.static_vectors.vectors import StaticVectors, read_vectors
from rejoinder.models.threads import spread
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Candidate, to_candidates

MAX_WORDS = 512
"""Words of a question or candidate beyond this many are not read, nor in training."""

MIN_RUN = 200
"""Candidates that are worth a thread: fewer take less time than it takes to begin."""

MakeNetwork = Callable[[Weights, Kernel | None], Network]


@runtime_checkable
class DerivingNetwork(Network, Protocol):
    """A network that derives a row from each word alone, once for the whole vocabulary."""

    derived_width: int

    def derive(self, vectors: Matrix) -> Matrix:
        """Return one row per word."""
        ...


class RankerScorer:
    """Scores with the weights of a bundle; deterministic, and safe from many threads.

    `make_network` makes the network of the bundle's family.
    `threads` may work on one question, where its list is long; scores do not depend on it.
    `compiled=False` leaves the compiled kernel aside, if there is one.
    """

    def __init__(
        self, bundle: Bundle, make_network: MakeNetwork, *, threads: int = 1, compiled: bool = True
    ) -> None:
        manifest = bundle.manifest
        self.name = Path(bundle.folder).name
        self._threads = threads
        self._kernel = kernel = load_kernel() if compiled else None
        weights = {key: tensor.astype(np.float32) for key, tensor in bundle.read_tensors().items()}
        self._vectors = read_vectors(bundle)
        try:
            network = make_network(_below("encoder.", weights), kernel)
            self._head = make_head(manifest.config["head"], _below("head.", weights), kernel)
            self._output = Product(weights["output.weight"].T, weights["output.bias"], kernel)
            reads_context = manifest.config.get("context", False)
            self._around = weights["around.weight"][0] if reads_context else None
            self._network = network
            self._tables = _make_tables(network, self._vectors)
            # Weights that can be opened may still not fit together.
            self.score("a b", ["a b", "b"])
        except KeyError as error:
            raise bundle.refuse(f"weight or setting {error} is missing") from error
        except (ValueError, TypeError, IndexError, AssertionError) as error:
            raise bundle.refuse(f"weights do not fit together ({error})") from error
        self.is_pointwise = manifest.config["head"] == "none"

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        given = to_candidates(candidates)
        scores = np.empty(len(given), dtype=np.float64)
        if not given:
            return scores
        segments = find_segments(given)
        places = [place for segment in segments for place in segment]
        found = self._look_up(question, [given[place] for place in places])
        lengths = np.array([len(segment) for segment in segments], dtype=np.int64)
        runs = _cut_evenly(len(given), self._threads)
        projected = spread(partial(self._encode, found), runs, threads=len(runs))
        read = self._head.read(np.concatenate(projected), lengths, threads=len(runs))
        scores[places] = self._output(read)[:, 0]
        if self._around is not None:
            around = relate_surroundings(question, given, self._vectors.embed)
            scores += (around * self._around).sum(axis=1)
        return scores

    def _encode(self, found: WordRows, run: slice) -> Matrix:
        """Return what the head reads of a run of candidates."""
        pairs = self._network.encode(_relate(found, run, self._kernel))
        return self._head.project(pairs)

    def encode(self, text: str) -> bytes | None:
        """Return a text as `Candidate.tokens`, to store; None where vectors are of whole words."""
        return self._vectors.encode(text)

    @property
    def tokenizer(self) -> str | None:
        """The hash of the tokenizer whose stored tokens it reads."""
        return self._vectors.pieces.hash if self._vectors.pieces else None

    def _look_up(self, question: str, candidates: Sequence[Candidate]) -> WordRows:
        asked = pretokenize(question)[:MAX_WORDS]
        tokens = [candidate.tokens for candidate in candidates if candidate.tokens is not None]
        if len(tokens) == len(candidates) and self._vectors.can_read(b"".join(tokens)):
            found = self._tables.look_up_tokens(asked, tokens)
            if found.lengths.max() <= MAX_WORDS:
                return found
        texts = [pretokenize(candidate.text)[:MAX_WORDS] for candidate in candidates]
        return self._tables.look_up([asked, *texts])


def _make_tables(network: Network, vectors: StaticVectors) -> WordTables:
    if isinstance(network, DerivingNetwork):
        return WordTables(vectors, derive=network.derive, derived_width=network.derived_width)
    return WordTables(vectors)


def _cut_evenly(count: int, parts: int) -> list[slice]:
    """Return runs that cover a list, as many as parts; fewer where they would be short."""
    parts = max(1, min(parts, count // MIN_RUN))
    bounds = [count * part // parts for part in range(parts + 1)]
    return [slice(*pair) for pair in pairwise(bounds)]


def _relate(found: WordRows, run: slice, kernel: Kernel | None) -> Pairs:
    """Return a run of the candidates together with the question."""
    table, rows, all_lengths = found
    lengths = all_lengths[1:][run]
    first = int(all_lengths[: run.start + 1].sum())
    question, words = rows[: all_lengths[0]], rows[first : first + int(lengths.sum())]
    if kernel is not None:
        related, related_question = kernel.relate(table.vectors, question, words, lengths)
    else:
        distinct, numbers = _number(words, len(table.vectors))
        cosines = table.vectors[question] @ table.vectors[distinct].T
        related, related_question = take_closest(cosines, numbers, lengths)
    return Pairs(table.vectors, question, words, lengths, related, related_question, table.derived)


def _number(words: Ids, rows: int) -> tuple[Ids, Ids]:
    """Return the distinct rows, and each word as its place among them; no sorting needed."""
    is_used = np.zeros(rows, dtype=bool)
    is_used[words] = True
    distinct = np.flatnonzero(is_used)
    places = np.empty(rows, dtype=np.int64)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[words]


def _below(prefix: str, weights: Weights) -> Weights:
    return {
        name.removeprefix(prefix): value
        for name, value in weights.items()
        if name.startswith(prefix)
    }
