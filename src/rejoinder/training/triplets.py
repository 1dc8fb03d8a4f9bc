"""Examples as triplets of token ids: a question, an answer of its list, a wrong candidate.

A step reads one triplet for each answer; its wrong candidate is drawn anew every time, from
the same list, else from all lists where that has none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rejoinder.models.has.encoder import TextTokens
from rejoinder.models.has.module import Texts, pad_texts
from rejoinder.training.mixing import Part
from rejoinder.types import Example

CHUNK = 16
"""Candidates that are padded to the same length."""


@dataclass(frozen=True, slots=True)
class TripletBatch:
    """Questions with an answer and a wrong candidate each.

    The candidates, all answers before all wrong ones, are read in chunks of about the same
    length, so that little is padded.
    """

    questions: Texts
    chunks: list[tuple[Tensor, Texts]]
    """Places in the list of candidates, and the candidates there."""


class Triplets:
    """All triplets of examples that have one answer each (`split_answers`)."""

    def __init__(self, examples: Sequence[Example], tokens: TextTokens) -> None:
        cut = {text: tokens.cut(text) for text in _list_texts(examples)}
        self._questions = [cut[example.question] for example in examples]
        self._answers = [
            cut[item.text]
            for example in examples
            for item, label in zip(example.candidates, example.labels, strict=True)
            if label
        ]
        self._wrong = [
            [
                cut[item.text]
                for item, label in zip(example.candidates, example.labels, strict=True)
                if not label
            ]
            for example in examples
        ]
        self._all_wrong = [ids for wrong in self._wrong for ids in wrong] or self._answers

    def describe(self) -> dict[str, int]:
        """Return what tells these triplets from others, for a checkpoint's fingerprint."""
        return {
            "triplets": len(self._answers),
            "wrong": len(self._all_wrong),
            "tokens": sum(map(len, (*self._questions, *self._answers, *self._all_wrong))),
        }

    def batch(self, questions: Tensor) -> TripletBatch:
        """Return these triplets; the wrong ones are drawn with torch's generator."""
        places = questions.tolist()
        candidates = [self._answers[place] for place in places]
        candidates += [_draw(self._wrong[place] or self._all_wrong) for place in places]
        order = sorted(range(len(candidates)), key=lambda place: len(candidates[place]))
        groups = [order[first : first + CHUNK] for first in range(0, len(order), CHUNK)]
        return TripletBatch(
            pad_texts([self._questions[place] for place in places]),
            [
                (torch.tensor(group), pad_texts([candidates[place] for place in group]))
                for group in groups
            ],
        )


def split_answers(part: Part) -> Part:
    """Return a part with one example for each answer: the others of its list are left out."""
    found = []
    for example in part.examples:
        pairs = list(zip(example.candidates, example.labels, strict=True))
        wrong = tuple(item for item, label in pairs if not label)
        for item, label in pairs:
            if label:
                labels = (True, *(False for _ in wrong))
                found.append(replace(example, candidates=(item, *wrong), labels=labels))
    return Part(found, part.weight)


def _draw(texts: Sequence[list[int]]) -> list[int]:
    return texts[int(torch.randint(len(texts), ()))]


def _list_texts(examples: Sequence[Example]) -> set[str]:
    texts = {example.question for example in examples}
    return texts.union(item.text for example in examples for item in example.candidates)
