"""Examples as lists of a selector's inputs: what of each list a step reads.

A transformer's step costs by the token, so a list is cut to one answer and the wrong
candidates that look most like one, and one more that stands elsewhere: scores must mean the
same across documents, not only inside a list.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rejoinder.models.selector.pair_reader import Feed, PairReader, pad
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Candidate, Example

MAX_CANDIDATES = 8
ELSEWHERE = 12
"""Sentences elsewhere that are looked at, of which the most alike is taken."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pairs of about the same length, padded."""

    places: Tensor  # (P,) of the pairs in their batch
    inputs: dict[str, Tensor]  # each (P, things, …)


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """The pairs of some questions, in chunks."""

    chunks: list[Chunk]
    labels: Tensor  # (all pairs,)
    list_lengths: Tensor  # (Q,)


class Lists:
    """All lists of a data set; they are read when a step needs them."""

    def __init__(
        self,
        examples: Sequence[Example],
        reader: PairReader,
        *,
        seed: int = 0,
        max_candidates: int = MAX_CANDIDATES,
        elsewhere: bool = True,
        chunk_size: int = 32,
    ) -> None:
        self._reader = reader
        self._chunk_size = chunk_size
        self._questions = [example.question for example in examples]
        words = {text: frozenset(pretokenize(text)) for text in _all_texts(examples)}
        self._lists = [
            choose_candidates(
                example, words, limit=max_candidates, rng=random.Random(f"{seed}/{at}")
            )
            for at, example in enumerate(examples)
        ]
        if elsewhere:
            _add_elsewhere(examples, self._lists, words, random.Random(seed))

    def describe(self) -> dict[str, int]:
        """Return what tells these lists from others, for a checkpoint's fingerprint."""
        return {
            "questions": len(self._lists),
            "pairs": sum(map(len, self._lists)),
            "characters": sum(len(item.text) for pairs in self._lists for item, _ in pairs),
        }

    def batch(self, questions: Tensor) -> TokenBatch:
        """Return the pairs of these questions in chunks of similar length."""
        feeds: list[Feed] = []
        labels, lengths = [], []
        for question in questions.tolist():
            chosen = self._lists[question]
            lengths.append(len(chosen))
            feeds += self._reader.read(self._questions[question], [item for item, _ in chosen])
            labels += [float(label) for _, label in chosen]
        return TokenBatch(
            make_chunks(feeds, self._chunk_size), torch.tensor(labels), torch.tensor(lengths)
        )


def make_chunks(feeds: Sequence[Feed], size: int) -> list[Chunk]:
    """Return the pairs sorted by length, padded in chunks."""
    order = sorted(range(len(feeds)), key=lambda place: feeds[place]["ids"].size)
    chunks = []
    for start in range(0, len(order), size):
        places = order[start : start + size]
        padded = pad([feeds[place] for place in places])
        inputs = {name: torch.from_numpy(value) for name, value in padded.items()}
        chunks.append(Chunk(torch.tensor(places), inputs))
    return chunks


Chosen = list[tuple[Candidate, bool]]
Words = Mapping[str, frozenset[str]]
"""Of each text, the words it has."""


def choose_candidates(example: Example, words: Words, *, limit: int, rng: random.Random) -> Chosen:
    """Return at most `limit` candidates: the answers (half of it at most), then hard negatives.

    Half of the negatives are those that share most words with the question, half are drawn.
    """
    asked = words[example.question]
    judged = list(zip(example.candidates, example.labels, strict=True))
    answers = [item for item, label in judged if label]
    wrong = [item for item, label in judged if not label]
    if len(judged) > limit:
        rng.shuffle(answers)
        answers = answers[: max(1, limit // 2)]
        rng.shuffle(wrong)
        wrong.sort(key=lambda item: -len(asked & words[item.text]))
        room = limit - len(answers)
        hard, rest = wrong[: (room + 1) // 2], wrong[(room + 1) // 2 :]
        wrong = hard + rng.sample(rest, min(len(rest), room - len(hard)))
    return [(item, True) for item in answers] + [(item, False) for item in wrong]


def _add_elsewhere(
    examples: Sequence[Example], lists: list[Chosen], words: Words, rng: random.Random
) -> None:
    """Give each list one sentence of another list: of the same page, else of any."""
    pages: dict[str, list[Candidate]] = defaultdict(list)
    everything: list[Candidate] = []
    for example in examples:
        pages[_page(example)].extend(example.candidates)
        everything.extend(example.candidates)
    for example, chosen in zip(examples, lists, strict=True):
        own = {item.text for item in example.candidates}
        found = _draw(pages[_page(example)], own, rng) or _draw(everything, own, rng)
        if found:
            asked = words[example.question]
            most = max(found, key=lambda item: len(asked & words[item.text]))
            chosen.append((most, False))


def _draw(candidates: Sequence[Candidate], own: set[str], rng: random.Random) -> list[Candidate]:
    drawn = rng.choices(candidates, k=ELSEWHERE) if candidates else []
    return sorted((item for item in drawn if item.text not in own), key=lambda item: item.text)


def _page(example: Example) -> str:
    document = example.candidates[0].document if example.candidates else None
    return document.title if document else ""


def _all_texts(examples: Sequence[Example]) -> set[str]:
    texts = {example.question for example in examples}
    return texts.union(item.text for example in examples for item in example.candidates)
