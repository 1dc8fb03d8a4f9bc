"""Training examples as tensors, built once, so that a training step only gathers.

Word vectors are frozen, so the relatedness of words is known before training starts.  Nothing
is padded: the words of all pairs are concatenated, with the length of each text.

Axes: Q questions, S segments, P pairs, N words of one side of all pairs, W distinct words,
E vector width.
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from itertools import chain, repeat
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.models.kernel import Matrix
from rejoinder.models.ranker.relatedness import (
    get_context_features,
    max_relatedness,
    mean_relatedness,
)
from rejoinder.models.ranker.scorer import MAX_WORDS
from rejoinder.models.scorer import Places, find_segments
from rejoinder.text.packed import PackedTexts
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Example

MAX_RELATED_WORDS = 1 << 25
"""Words of the candidates up to which relatedness is kept: 12 bytes a word, and the question's."""


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
    context_features: Tensor  # (P, features of the form of context)


class TrainingPairs:
    """All pairs of a data set, with the vectors of all of its words.

    The relatedness of words is computed once; for data with very many words, in each batch.
    """

    def __init__(
        self,
        examples: Iterable[Example],
        vectors: WordVectors,
        *,
        targets: Iterable[Sequence[float]] | None = None,
        context: str = "none",
    ) -> None:
        """Pack the examples, in one pass.

        Args:
            targets: a target from 0 to 1 for each candidate, instead of the example's labels.
            context: the form of the context features to compute.
        """
        order, labels = array("i"), array("f")
        segments_of_list, segment_lengths = array("q"), array("q")
        features = []
        relate = partial(mean_relatedness, embed=vectors.embed)
        self._words = WordLists()
        given = repeat(None) if targets is None else targets
        for example, target in zip(examples, given, strict=targets is not None):
            segments = find_segments(example.candidates)
            places = list(chain.from_iterable(segments))
            candidates = [example.candidates[place] for place in places]
            self._words.add(example.question, [item.text for item in candidates])
            order.extend(places)
            labels.extend(float((target or example.labels)[place]) for place in places)
            segments_of_list.append(len(segments))
            segment_lengths.extend(map(len, segments))
            if context != "none":
                asked = example.question
                features.append(get_context_features(asked, candidates, relate, context))
        self.order: Places = np.asarray(order)
        """The index of each pair in its example's candidates."""
        table = vectors.embed(list(self._words.vocabulary))
        table[0] = 0
        self.vectors = torch.from_numpy(table)  # (vocabulary, E)
        self._labels = torch.from_numpy(np.asarray(labels))
        self._list_lengths = torch.from_numpy(self._words.list_lengths)
        self._list_starts = start_offsets(self._list_lengths)
        self._segment_lengths = torch.from_numpy(np.asarray(segment_lengths))
        self._segments_of_list = torch.from_numpy(np.asarray(segments_of_list))
        self._segment_starts = start_offsets(self._segments_of_list)
        no_features = np.zeros((len(labels), 0), np.float32)
        self._context_features = torch.from_numpy(np.concatenate(features or [no_features]))
        self._sides: list[tuple[Side, Tensor]] | None = None
        if self._words.count() <= MAX_RELATED_WORDS:
            related = self._words.relate(range(len(self)), table)
            self._sides = [(side, start_offsets(side.lengths)) for side in related]

    def __len__(self) -> int:
        return len(self._list_lengths)

    def describe(self) -> list[float]:
        """Return a fingerprint of the data: sizes and sums."""
        return [
            len(self),
            *self.vectors.shape,
            float(self.vectors.sum(dtype=torch.float64)),  # without a copy in double precision
            float(self._labels.sum()),
            *self._words.sum_numbers(),
        ]

    def batch(self, questions: Tensor) -> Batch:
        """Return the pairs of these questions."""
        lengths = self._list_lengths[questions]
        pairs = join_ranges(self._list_starts[questions], lengths)
        segments = join_ranges(self._segment_starts[questions], self._segments_of_list[questions])
        if self._sides is None:
            question, candidate = self._words.relate(questions.tolist(), self.vectors.numpy())
        else:
            question, candidate = (_select(side, starts, pairs) for side, starts in self._sides)
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


class WordLists:
    """The words of each question and of its candidates, as numbers of a vocabulary."""

    def __init__(self) -> None:
        self.vocabulary = {"": 0}
        self._questions, self._candidates = PackedTexts(), PackedTexts()
        self._ends = array("q", [0])  # of each list among all candidates

    @property
    def list_lengths(self) -> Places:
        """How many candidates each question has."""
        return np.diff(np.asarray(self._ends))

    def add(self, question: str, texts: Iterable[str]) -> None:
        """Add a question and its candidates."""
        self._questions.add(self._number(question))
        for text in texts:
            self._candidates.add(self._number(text))
        self._ends.append(len(self._candidates))

    def count(self) -> int:
        """Return how many words the candidates have."""
        return self._candidates.count_tokens()

    def sum_numbers(self) -> list[int]:
        """Return the sums of the numbers of both sides, for a fingerprint."""
        return [self._questions.sum_ids(), self._candidates.sum_ids()]

    def relate(self, lists: Iterable[int], vectors: Matrix) -> tuple[Side, Side]:
        """Return both sides of the pairs of these lists."""
        parts = []
        for number in lists:
            question, _ = self._questions.get_range(number, number + 1)
            first, last = self._ends[number], self._ends[number + 1]
            flat, lengths = self._candidates.get_range(first, last)
            distinct, words = np.unique(flat, return_inverse=True)
            cosines = vectors[question] @ vectors[distinct].T
            related, related_question = max_relatedness(cosines, words, lengths)
            copies = np.tile(question, len(lengths))
            copy_lengths = np.full(len(lengths), len(question), dtype=np.int64)
            parts.append((copies, related_question.ravel(), copy_lengths, flat, related, lengths))
        columns = [torch.from_numpy(np.concatenate(column)) for column in zip(*parts, strict=True)]
        return Side(*columns[:3]), Side(*columns[3:])

    def _number(self, text: str) -> list[int]:
        """Return the number of each word, adding new words to the vocabulary."""
        # A text without words has one position: padding.
        words, vocabulary = pretokenize(text)[:MAX_WORDS] or [""], self.vocabulary
        return [vocabulary.setdefault(word, len(vocabulary)) for word in words]


def start_offsets(lengths: Tensor) -> Tensor:
    """Return the position at which each range begins."""
    return lengths.cumsum(0) - lengths


def join_ranges(starts: Tensor, lengths: Tensor) -> Tensor:
    """Return start, start + 1, … of each range, one range after another."""
    ends = lengths.cumsum(0)
    total = int(ends[-1]) if len(ends) else 0
    places = torch.arange(total, device=lengths.device)
    return torch.repeat_interleave(starts - (ends - lengths), lengths) + places


def pad_lists(values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Return the values (P,) of consecutive lists as a padded matrix and its mask, (Q, C) each."""
    places = torch.arange(int(lengths.max()), device=lengths.device)
    mask = (places < lengths[:, None]).to(values.device)
    padded = torch.zeros(mask.shape, dtype=values.dtype, device=values.device)
    return padded.masked_scatter(mask, values), mask


def move(batch: Any, device: torch.device) -> Any:
    """Return a batch of tensors, dataclasses, tuples, lists and dictionaries on a device."""
    if isinstance(batch, Tensor):
        return batch.to(device)
    if is_dataclass(batch) and not isinstance(batch, type):
        return replace(
            batch,
            **{item.name: move(getattr(batch, item.name), device) for item in fields(batch)},
        )
    if isinstance(batch, dict):
        return {name: move(value, device) for name, value in batch.items()}
    if type(batch) in (list, tuple):
        return type(batch)(move(value, device) for value in batch)
    return batch


def _number_words(question: Tensor, candidate: Tensor) -> tuple[Tensor, int, Tensor, Tensor]:
    """Number the distinct words of a batch: padding is 0, then the questions' words.

    So the questions' side ignores the many words of the candidates' side.  Returns the words, how
    many of them are padding or a question's, and both sides as numbers.
    """
    first, question_numbers = functional.pad(question, (1, 0)).unique(return_inverse=True)
    others, candidate_ids = candidate.unique(return_inverse=True)
    is_new = ~torch.isin(others, first)
    numbers = torch.searchsorted(first, others)
    numbers[is_new] = len(first) + torch.arange(int(is_new.sum()), device=numbers.device)
    distinct = torch.cat([first, others[is_new]])
    return distinct, len(first), question_numbers[1:], numbers[candidate_ids]


def _select(side: Side, starts: Tensor, pairs: Tensor) -> Side:
    lengths = side.lengths[pairs]
    positions = join_ranges(starts[pairs], lengths)
    return Side(side.words[positions], side.related[positions], lengths)
