"""Training examples as tensors, built once, so that a training step only gathers.

Word vectors are frozen, so the relatedness of words is known before training starts.  Nothing
is padded: the words of all pairs are concatenated, with the length of each text.

Axes: Q questions, S segments, P pairs, N words of one side of all pairs, W distinct words,
E vector width.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.models.kernel import Ids, Matrix
from rejoinder.models.ranker.relatedness import get_context_features, max_relatedness
from rejoinder.models.ranker.scorer import MAX_WORDS
from rejoinder.models.scorer import find_segments
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Example


class WordVectors(Protocol):
    """Anything that returns a vector of length 1 for each word."""

    def embed(self, words: Sequence[str]) -> Matrix:
        """Return one row per word, shape (len(words), E)."""
        ...


@dataclass(frozen=True, slots=True)
class Side:
    """The words of the questions, or of the candidates, of P pairs."""

    words: Tensor  # (N,) rows of the batch's vectors; row 0 is padding
    related: Tensor  # (N,) largest cosine to a word of the other side
    lengths: Tensor  # (P,)


@dataclass(frozen=True, slots=True)
class Batch:
    """The pairs of some questions, segment by segment, with the vectors of their words."""

    vectors: Tensor  # (W, E); row 0 is zeros
    question_rows: int  # the first rows of `vectors` hold all words of the questions
    question: Side
    candidate: Side
    labels: Tensor  # (P,)
    list_lengths: Tensor  # (Q,) pairs of each question
    segment_lengths: Tensor  # (S,) pairs of each segment
    context_features: Tensor  # (P, 3), or (P, 0) without context


class TrainingPairs:
    """All pairs of a data set, with the vectors of all of its words."""

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
            targets: a target from 0 to 1 for each candidate, instead of the example's labels.
            context: whether to compute context features.
        """
        segments = [find_segments(example.candidates) for example in examples]
        self.order = [list(chain.from_iterable(parts)) for parts in segments]
        """For each question, the index of each pair in the example's candidates."""
        lists = [
            (example.question, [example.candidates[at] for at in order])
            for example, order in zip(examples, self.order, strict=True)
        ]
        vocabulary = {"": 0}
        words = [
            [_to_rows(text, vocabulary) for text in (question, *(item.text for item in items))]
            for question, items in lists
        ]
        table = vectors.embed(list(vocabulary))
        table[0] = 0
        self.vectors = torch.from_numpy(table)  # (vocabulary, E)
        self._question, self._candidate = _relate(words, table)
        ordered = zip(targets or (example.labels for example in examples), self.order, strict=True)
        labels = [float(target[at]) for target, order in ordered for at in order]
        self._labels = torch.tensor(labels, dtype=torch.float32)
        self._list_lengths = _count(self.order)
        self._list_starts = start_offsets(self._list_lengths)
        self._segment_lengths = _count(chain.from_iterable(segments))
        self._segments_of_list = _count(segments)
        self._segment_starts = start_offsets(self._segments_of_list)
        self._question_starts = start_offsets(self._question.lengths)
        self._candidate_starts = start_offsets(self._candidate.lengths)
        self._context_features = torch.zeros((len(self._labels), 0))
        if context:
            features = [
                get_context_features(question, candidates, vectors.embed)
                for question, candidates in lists
            ]
            self._context_features = torch.from_numpy(np.concatenate(features))

    def __len__(self) -> int:
        return len(self._list_lengths)

    def describe(self) -> list[float]:
        """Return a fingerprint of the data: sizes and sums."""
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
        question = _select(self._question, self._question_starts, pairs)
        candidate = _select(self._candidate, self._candidate_starts, pairs)
        used, question_rows, *words = _number_words(question.words, candidate.words)
        return Batch(
            self.vectors[used],
            question_rows,
            replace(question, words=words[0]),
            replace(candidate, words=words[1]),
            self._labels[pairs],
            lengths,
            self._segment_lengths[segments],
            self._context_features[pairs],
        )


def start_offsets(lengths: Tensor) -> Tensor:
    """Return the position at which each range begins."""
    return lengths.cumsum(0) - lengths


def join_ranges(starts: Tensor, lengths: Tensor) -> Tensor:
    """Return start, start + 1, … of each range, one range after another."""
    ends = lengths.cumsum(0)
    total = int(ends[-1]) if len(ends) else 0
    return torch.repeat_interleave(starts - (ends - lengths), lengths) + torch.arange(total)


def pad_lists(values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the values (P,) of consecutive lists as a padded matrix and its mask, (Q, C) each."""
    mask = torch.arange(int(lengths.max())) < lengths[:, None]
    padded = torch.zeros(mask.shape, dtype=values.dtype).masked_scatter(mask, values)
    return padded, mask


def _count(lists: Iterable[Sequence[object]]) -> Tensor:
    return torch.tensor([len(items) for items in lists], dtype=torch.long)


def _number_words(question: Tensor, candidate: Tensor) -> tuple[Tensor, int, Tensor, Tensor]:
    """Number the distinct words of a batch: padding is 0, then the questions' words.

    So the questions' side ignores the many words of the candidates' side.  Returns the words, how
    many of them are padding or a question's, and both sides as numbers.
    """
    first, question_numbers = functional.pad(question, (1, 0)).unique(return_inverse=True)
    others, candidate_ids = candidate.unique(return_inverse=True)
    is_new = ~torch.isin(others, first)
    numbers = torch.searchsorted(first, others)
    numbers[is_new] = len(first) + torch.arange(int(is_new.sum()))
    distinct = torch.cat([first, others[is_new]])
    return distinct, len(first), question_numbers[1:], numbers[candidate_ids]


def _select(side: Side, starts: Tensor, pairs: Tensor) -> Side:
    lengths = side.lengths[pairs]
    positions = join_ranges(starts[pairs], lengths)
    return Side(side.words[positions], side.related[positions], lengths)


def _to_rows(text: str, vocabulary: dict[str, int]) -> Ids:
    """Return the number of each word, adding new words to the vocabulary."""
    # A text without words has one position: padding.
    words = pretokenize(text)[:MAX_WORDS] or [""]
    return np.array([vocabulary.setdefault(word, len(vocabulary)) for word in words], np.int64)


def _relate(lists: Sequence[Sequence[Ids]], vectors: Matrix) -> tuple[Side, Side]:
    """Return both sides of the pairs of lists, each a question and its candidates."""
    parts = []
    for question, *texts in lists:
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        flat = np.concatenate([np.empty(0, np.int64), *texts])
        distinct, words = np.unique(flat, return_inverse=True)
        cosines = vectors[question] @ vectors[distinct].T
        related, related_question = max_relatedness(cosines, words, lengths)
        copies = np.tile(question, len(texts))
        copy_lengths = np.full(len(texts), len(question), dtype=np.int64)
        parts.append((copies, related_question.ravel(), copy_lengths, flat, related, lengths))
    columns = [torch.from_numpy(np.concatenate(column)) for column in zip(*parts, strict=True)]
    return Side(*columns[:3]), Side(*columns[3:])
