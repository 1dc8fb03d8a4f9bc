"""Examples as tensors, made once, so that a training step only gathers.

Word vectors are frozen, so how related the words of a question and a candidate are is
known before training starts.  Nothing is padded: the words of all pairs stand one after
another, and lengths say where a pair ends.

Axes: Q questions, S segments, P pairs, N words of one side of all pairs, W distinct words,
E vector width.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from rejoinder.models.ranker.relatedness import take_closest
from rejoinder.models.ranker.scorer import MAX_WORDS
from rejoinder.models.ranker.surroundings import relate_surroundings
from rejoinder.models.rel_cnn.network import IDENTICAL
from rejoinder.models.segments import find_segments
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Example


class WordVectors(Protocol):
    """Anything that gives each word a vector of length 1."""

    def embed(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per word, shape (len(words), E)."""
        ...


@dataclass(frozen=True, slots=True)
class Side:
    """The words of the questions, or of the candidates, of P pairs."""

    words: Tensor  # (N,) rows of the table of vectors; row 0 is no word
    related: Tensor  # (N,) cosine to the closest word of the other side
    lengths: Tensor  # (P,)

    @property
    def shared(self) -> Tensor:
        """1.0 where the same word stands on the other side: only then the cosine is 1."""
        return (self.related > IDENTICAL).float()  # (N,)


@dataclass(frozen=True, slots=True)
class Batch:
    """The pairs of some questions, segment by segment, with the vectors of their words."""

    vectors: Tensor  # (W, E); row 0 is zeros
    asked: int  # the first rows of `vectors` hold all words of the questions
    question: Side
    candidate: Side
    labels: Tensor  # (P,)
    list_lengths: Tensor  # (Q,) pairs of each question
    segment_lengths: Tensor  # (S,) pairs of each segment
    around: Tensor  # (P, 3) how related what stands around is to the question; or (P, 0)


class Pairs:
    """All pairs of a data set, and the vectors of all of its words."""

    def __init__(
        self,
        examples: Sequence[Example],
        vectors: WordVectors,
        *,
        targets: Iterable[Sequence[float]] | None = None,
        context: bool = False,
    ) -> None:
        """Pack the examples.

        Args:
            context: whether what stands around the candidates is looked at too.
            targets: what the network should say of each candidate, from 0 to 1, where that
                is not the example's label.
        """
        packer = _Packer()
        wanted = targets or (example.labels for example in examples)
        for example, target in zip(examples, wanted, strict=True):
            packer.add(example, target)
        table = vectors.embed(list(packer.rows))
        table[0] = 0
        self.vectors = torch.from_numpy(table)  # (vocabulary, E)
        self._question, self._candidate = packer.to_sides(table)
        self._labels = torch.tensor(packer.labels, dtype=torch.float32)
        self._list_lengths = torch.tensor(packer.list_lengths, dtype=torch.long)
        self._list_starts = _starts(self._list_lengths)
        self._segment_lengths = torch.tensor(packer.segment_lengths, dtype=torch.long)
        self._segments_of_list = torch.tensor(packer.segments_of_list, dtype=torch.long)
        self._segment_starts = _starts(self._segments_of_list)
        self._word_starts = [_starts(side.lengths) for side in (self._question, self._candidate)]
        self.places = packer.places
        """Of each question, the place of each pair in the example's list of candidates."""
        self._around = torch.zeros((len(self._labels), 0))
        if context:
            found = [
                relate_surroundings(
                    example.question, [example.candidates[at] for at in places], vectors.embed
                )
                for example, places in zip(examples, packer.places, strict=True)
            ]
            self._around = torch.from_numpy(np.concatenate(found))

    def __len__(self) -> int:
        return len(self._list_lengths)

    def describe(self) -> list[float]:
        """Return numbers that differ where the data does: sizes, and sums of what it holds."""
        return [
            len(self),
            *self.vectors.shape,
            float(self.vectors.double().sum()),
            float(self._labels.sum()),
            float(self._question.words.sum()),
            float(self._candidate.words.sum()),
        ]

    def batch(self, questions: Tensor) -> Batch:
        """Return the pairs of these questions."""
        lengths = self._list_lengths[questions]
        pairs = join_ranges(self._list_starts[questions], lengths)
        segments = join_ranges(self._segment_starts[questions], self._segments_of_list[questions])
        question = _take(self._question, self._word_starts[0], pairs)
        candidate = _take(self._candidate, self._word_starts[1], pairs)
        used, asked, question_rows, candidate_rows = _number_words(question.words, candidate.words)
        return Batch(
            self.vectors[used],
            asked,
            replace(question, words=question_rows),
            replace(candidate, words=candidate_rows),
            self._labels[pairs],
            lengths,
            self._segment_lengths[segments],
            self._around[pairs],
        )


def join_ranges(starts: Tensor, lengths: Tensor) -> Tensor:
    """Return start, start + 1, … of each range, one range after another."""
    ends = lengths.cumsum(0)
    total = int(ends[-1]) if len(ends) else 0
    return torch.repeat_interleave(starts - (ends - lengths), lengths) + torch.arange(total)


def _number_words(asked: Tensor, answered: Tensor) -> tuple[Tensor, int, Tensor, Tensor]:
    """Number the distinct words of a batch: no word is 0, those of the questions come first.

    So the questions' side need not look at the many words of the candidates' side.

    Returns:
        The distinct words, how many are no word or a question's, and both sides as numbers.
    """
    first, asked_rows = functional.pad(asked, (1, 0)).unique(return_inverse=True)
    others, answered_rows = answered.unique(return_inverse=True)
    is_new = ~torch.isin(others, first)
    numbers = torch.searchsorted(first, others)
    numbers[is_new] = len(first) + torch.arange(int(is_new.sum()))
    return torch.cat([first, others[is_new]]), len(first), asked_rows[1:], numbers[answered_rows]


def _take(side: Side, starts: Tensor, pairs: Tensor) -> Side:
    lengths = side.lengths[pairs]
    places = join_ranges(starts[pairs], lengths)
    return Side(side.words[places], side.related[places], lengths)


def _starts(lengths: Tensor) -> Tensor:
    return lengths.cumsum(0) - lengths


class _Packer:
    """Collects words and lengths; when all are known, computes what depends on vectors."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {"": 0}
        self._lists: list[tuple[NDArray[np.int64], list[NDArray[np.int64]]]] = []
        self.labels: list[float] = []
        self.list_lengths: list[int] = []
        self.segment_lengths: list[int] = []
        self.segments_of_list: list[int] = []
        self.places: list[list[int]] = []

    def add(self, example: Example, target: Sequence[float]) -> None:
        segments = find_segments(example.candidates)
        places = [place for segment in segments for place in segment]
        self._lists.append(
            (
                self._look_up(example.question),
                [self._look_up(example.candidates[place].text) for place in places],
            )
        )
        self.labels += [float(target[place]) for place in places]
        self.list_lengths.append(len(places))
        self.segment_lengths += map(len, segments)
        self.segments_of_list.append(len(segments))
        self.places.append(places)

    def to_sides(self, vectors: NDArray[np.float32]) -> tuple[Side, Side]:
        questions, candidates = _Flat(), _Flat()
        for question, texts in self._lists:
            lengths = np.array([len(text) for text in texts], dtype=np.int64)
            flat = np.concatenate(texts) if texts else np.empty(0, dtype=np.int64)
            distinct, words = np.unique(flat, return_inverse=True)
            cosines = vectors[question] @ vectors[distinct].T
            related, related_q = take_closest(cosines, words, lengths)
            candidates.add(flat, related, lengths)
            copies = np.tile(question, len(texts))
            lengths_q = np.full(len(texts), len(question), dtype=np.int64)
            questions.add(copies, related_q.ravel(), lengths_q)
        return questions.to_side(), candidates.to_side()

    def _look_up(self, text: str) -> NDArray[np.int64]:
        # A text without words still is one position wide: that of no word.
        words = pretokenize(text)[:MAX_WORDS] or [""]
        rows = [self.rows.setdefault(word, len(self.rows)) for word in words]
        return np.array(rows, dtype=np.int64)


class _Flat:
    """Arrays of one side, question after question."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[np.generic], ...]] = []

    def add(self, *parts: NDArray[np.generic]) -> None:
        self._parts.append(parts)

    def to_side(self) -> Side:
        words, related, lengths = (
            torch.from_numpy(np.concatenate(column)) for column in zip(*self._parts, strict=True)
        )
        return Side(words, related, lengths)


def pad_lists(values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return (Q, C) values and mask of lists that stand one after another in (P,)."""
    mask = torch.arange(int(lengths.max())) < lengths[:, None]
    padded = torch.zeros(mask.shape, dtype=values.dtype).masked_scatter(mask, values)
    return padded, mask
