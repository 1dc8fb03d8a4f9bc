"""Examples as lists of token ids for the selector: what of each list a step reads.

A transformer's step costs by the token, so a list is cut to one answer and the wrong
candidates that look most like one, and one more that stands elsewhere: scores must mean the
same across documents, not only inside a list.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rejoinder.records import Example
from rejoinder.text.pair_tokens import PairTokens

MAX_CANDIDATES = 8
ELSEWHERE = 12
"""Sentences elsewhere that are looked at, of which the most alike is taken."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pairs of about the same length, padded."""

    places: Tensor  # (P,) of the pairs in their batch
    ids: Tensor  # (P, L)
    mask: Tensor  # (P, L)
    kinds: Tensor  # (P, L)


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """The pairs of some questions, in chunks."""

    chunks: list[Chunk]
    labels: Tensor  # (all pairs,)
    list_lengths: Tensor  # (Q,)


class Lists:
    """All lists of a data set as token ids."""

    def __init__(
        self,
        examples: Sequence[Example],
        tokens: PairTokens,
        *,
        seed: int = 0,
        max_candidates: int = MAX_CANDIDATES,
        elsewhere: bool = True,
        chunk_size: int = 32,
    ) -> None:
        self._tokens = tokens
        self._chunk_size = chunk_size
        cut = {text: tuple(tokens.cut(text)) for text in _all_texts(examples)}
        self._questions = [cut[example.question] for example in examples]
        self._lists = [
            choose_candidates(example, cut, limit=max_candidates, rng=random.Random(f"{seed}/{at}"))
            for at, example in enumerate(examples)
        ]
        if elsewhere:
            _add_elsewhere(examples, self._lists, cut, random.Random(seed))

    def describe(self) -> dict[str, int]:
        """Return what tells these lists from others, for a checkpoint's fingerprint."""
        return {
            "questions": len(self._lists),
            "pairs": sum(map(len, self._lists)),
            "tokens": sum(len(ids) for pairs in self._lists for ids, _ in pairs),
        }

    def batch(self, questions: Tensor) -> TokenBatch:
        """Return the pairs of these questions in chunks of similar length."""
        pairs, labels, lengths = [], [], []
        for question in questions.tolist():
            chosen = self._lists[question]
            lengths.append(len(chosen))
            for candidate, label in chosen:
                pairs.append(self._tokens.join(self._questions[question], candidate))
                labels.append(float(label))
        return TokenBatch(
            make_chunks(pairs, self._chunk_size), torch.tensor(labels), torch.tensor(lengths)
        )


def make_chunks(pairs: Sequence[tuple[list[int], list[int]]], size: int) -> list[Chunk]:
    """Return the pairs sorted by length, padded in chunks."""
    order = sorted(range(len(pairs)), key=lambda place: len(pairs[place][0]))
    chunks = []
    for start in range(0, len(order), size):
        places = order[start : start + size]
        longest = len(pairs[places[-1]][0])
        ids = torch.zeros((len(places), longest), dtype=torch.long)
        mask, kinds = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, place in enumerate(places):
            length = len(pairs[place][0])
            ids[row, :length] = torch.tensor(pairs[place][0])
            kinds[row, :length] = torch.tensor(pairs[place][1])
            mask[row, :length] = 1
        chunks.append(Chunk(torch.tensor(places), ids, mask, kinds))
    return chunks


Chosen = list[tuple[tuple[int, ...], bool]]


def choose_candidates(
    example: Example, cut: dict[str, tuple[int, ...]], *, limit: int, rng: random.Random
) -> Chosen:
    """Return at most `limit` candidates: the answers (half of it at most), then hard negatives.

    Half of the negatives are those that share most word pieces with the question, half
    are drawn.
    """
    asked = set(cut[example.question])
    judged = list(zip(example.candidates, example.labels, strict=True))
    answers = [cut[item.text] for item, label in judged if label]
    wrong = [cut[item.text] for item, label in judged if not label]
    if len(judged) > limit:
        rng.shuffle(answers)
        answers = answers[: max(1, limit // 2)]
        rng.shuffle(wrong)
        wrong.sort(key=lambda pieces: -len(asked & set(pieces)))
        room = limit - len(answers)
        hard, rest = wrong[: (room + 1) // 2], wrong[(room + 1) // 2 :]
        wrong = hard + rng.sample(rest, min(len(rest), room - len(hard)))
    return [(pieces, True) for pieces in answers] + [(pieces, False) for pieces in wrong]


def _add_elsewhere(
    examples: Sequence[Example],
    lists: list[Chosen],
    cut: dict[str, tuple[int, ...]],
    rng: random.Random,
) -> None:
    """Give each list one sentence of another list: of the same page, else of any."""
    pages: dict[str, list[str]] = defaultdict(list)
    everything = []
    for example in examples:
        texts = [item.text for item in example.candidates]
        pages[_page(example)].extend(texts)
        everything.extend(texts)
    for example, chosen in zip(examples, lists, strict=True):
        own = {item.text for item in example.candidates}
        found = _draw(pages[_page(example)], own, rng) or _draw(everything, own, rng)
        if found:
            asked = set(cut[example.question])
            most = max(found, key=lambda text: len(asked & set(cut[text])))
            chosen.append((cut[most], False))


def _draw(texts: Sequence[str], own: set[str], rng: random.Random) -> list[str]:
    drawn = rng.choices(texts, k=ELSEWHERE) if texts else []
    return sorted(set(drawn) - own)


def _page(example: Example) -> str:
    document = example.candidates[0].document if example.candidates else None
    return document.title if document else ""


def _all_texts(examples: Sequence[Example]) -> set[str]:
    texts = {example.question for example in examples}
    return texts.union(item.text for example in examples for item in example.candidates)
