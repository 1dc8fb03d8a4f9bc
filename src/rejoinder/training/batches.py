"""Batches of token ids: candidate lists for a selector, triplets for HAS.

Texts are sorted by length and padded in chunks, because a transformer's step costs by the
token.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from rejoinder.models.has.encoder import TextTokens
from rejoinder.models.has.module import Texts, pad_texts
from rejoinder.models.onnx_session import Feed, pad
from rejoinder.models.selector.pair_reader import PairReader
from rejoinder.text.wordpiece import pretokenize
from rejoinder.training.mixing import Part
from rejoinder.types import Candidate, Example

MAX_CANDIDATES = 8
ELSEWHERE = 12
"""Sentences drawn from other lists; the most similar one becomes a negative."""
CHUNK = 32
"""Pairs, or texts that are scored, that are padded to the same length."""
TRIPLET_CHUNK = 16
"""Candidates of triplets that are padded to the same length."""

Chosen = list[tuple[Candidate, bool]]
WordSets = Mapping[str, frozenset[str]]
"""The words of each text."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pairs of similar length, padded."""

    places: Tensor  # (P,) of the pairs in their batch
    inputs: dict[str, Tensor]  # each (P, …)


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """The pairs of some questions, in chunks."""

    chunks: list[Chunk]
    labels: Tensor  # (all pairs,)
    list_lengths: Tensor  # (Q,)


class CandidateLists:
    """Lists of a selector's inputs: answers, hard negatives, and one negative from elsewhere.

    Scores must be comparable across documents, so each list gets a sentence of another one.
    Lists are tokenised when a step needs them.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        reader: PairReader,
        *,
        seed: int = 0,
        max_candidates: int = MAX_CANDIDATES,
    ) -> None:
        self._reader = reader
        self._questions = [example.question for example in examples]
        words = {text: frozenset(pretokenize(text)) for text in _all_texts(examples)}
        self._lists = [
            choose_candidates(
                example, words, limit=max_candidates, rng=random.Random(f"{seed}/{at}")
            )
            for at, example in enumerate(examples)
        ]
        _add_elsewhere(examples, self._lists, words, random.Random(seed))

    def describe(self) -> dict[str, int]:
        """Return the counts that identify these lists in a checkpoint's fingerprint."""
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
        return TokenBatch(make_chunks(feeds), torch.tensor(labels), torch.tensor(lengths))


def make_chunks(feeds: Sequence[Feed]) -> list[Chunk]:
    """Return the pairs sorted by length, padded in chunks."""
    chunks = []
    for places in group_by_length([feed["ids"].size for feed in feeds], CHUNK):
        padded = pad([feeds[place] for place in places])
        inputs = {name: torch.from_numpy(value) for name, value in padded.items()}
        chunks.append(Chunk(torch.tensor(places), inputs))
    return chunks


def group_by_length(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Return places of texts, shortest first, in groups of at most `size`.

    >>> group_by_length([3, 1, 2], 2)
    [[1, 2], [0]]
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return [order[first : first + size] for first in range(0, len(order), size)]


def choose_candidates(
    example: Example, words: WordSets, *, limit: int, rng: random.Random
) -> Chosen:
    """Return at most `limit` candidates: the answers (half of it at most), then negatives.

    Half of the negatives share most words with the question, half are drawn at random.
    """
    question_words = words[example.question]
    answers, wrong = _split_judged(example)
    if len(example.candidates) > limit:
        rng.shuffle(answers)
        answers = answers[: max(1, limit // 2)]
        rng.shuffle(wrong)
        wrong.sort(key=lambda item: -len(question_words & words[item.text]))
        room = limit - len(answers)
        hard, rest = wrong[: (room + 1) // 2], wrong[(room + 1) // 2 :]
        wrong = hard + rng.sample(rest, min(len(rest), room - len(hard)))
    return [(item, True) for item in answers] + [(item, False) for item in wrong]


def _add_elsewhere(
    examples: Sequence[Example], lists: list[Chosen], words: WordSets, rng: random.Random
) -> None:
    """Add to each list a sentence of another list, of the same page if there is one."""
    pages: dict[str, list[Candidate]] = defaultdict(list)
    everything: list[Candidate] = []
    for example in examples:
        pages[_page(example)].extend(example.candidates)
        everything.extend(example.candidates)
    for example, chosen in zip(examples, lists, strict=True):
        own = {item.text for item in example.candidates}
        drawn = _draw_others(pages[_page(example)], own, rng) or _draw_others(everything, own, rng)
        if drawn:
            question_words = words[example.question]
            most = max(drawn, key=lambda item: len(question_words & words[item.text]))
            chosen.append((most, False))


def _draw_others(
    candidates: Sequence[Candidate], own: set[str], rng: random.Random
) -> list[Candidate]:
    drawn = rng.choices(candidates, k=ELSEWHERE) if candidates else []
    return sorted((item for item in drawn if item.text not in own), key=lambda item: item.text)


def _page(example: Example) -> str:
    document = example.candidates[0].document if example.candidates else None
    return document.title if document else ""


@dataclass(frozen=True, slots=True)
class TripletBatch:
    """Questions with an answer and a wrong candidate each."""

    questions: Texts
    chunks: list[tuple[Tensor, Texts]]
    """Places in the list of candidates (all answers, then all wrong ones), and their texts."""


class Triplets:
    """Triplets of question, answer and wrong candidate, from examples with one answer each.

    A step draws the wrong candidate at random from the answer's list, or from all lists if that
    list has none.
    """

    def __init__(self, examples: Sequence[Example], tokens: TextTokens) -> None:
        ids = {text: tokens.encode(text) for text in _all_texts(examples)}
        self._questions = [ids[example.question] for example in examples]
        judged = [_split_judged(example) for example in examples]
        self._answers = [ids[item.text] for answers, _ in judged for item in answers]
        self._wrong = [[ids[item.text] for item in wrong] for _, wrong in judged]
        self._all_wrong = [text for wrong in self._wrong for text in wrong] or self._answers

    def describe(self) -> dict[str, int]:
        """Return the counts that identify these triplets in a checkpoint's fingerprint."""
        return {
            "triplets": len(self._answers),
            "wrong": len(self._all_wrong),
            "tokens": sum(map(len, (*self._questions, *self._answers, *self._all_wrong))),
        }

    def batch(self, questions: Tensor) -> TripletBatch:
        """Return these triplets; wrong candidates are drawn with torch's generator."""
        places = questions.tolist()
        candidates = [self._answers[place] for place in places]
        candidates += [_draw(self._wrong[place] or self._all_wrong) for place in places]
        chunks = [
            (torch.tensor(group), pad_texts([candidates[place] for place in group]))
            for group in group_by_length([*map(len, candidates)], TRIPLET_CHUNK)
        ]
        return TripletBatch(pad_texts([self._questions[place] for place in places]), chunks)


def split_answers(part: Part) -> Part:
    """Return a part with one example per answer, without the other answers of its list."""
    examples = []
    for example in part.examples:
        answers, wrong = _split_judged(example)
        labels = (True, *(False for _ in wrong))
        examples += [replace(example, candidates=(item, *wrong), labels=labels) for item in answers]
    return Part(examples, part.weight)


def _split_judged(example: Example) -> tuple[list[Candidate], list[Candidate]]:
    """Return the answers and the wrong candidates of an example."""
    judged = list(zip(example.candidates, example.labels, strict=True))
    return [item for item, label in judged if label], [item for item, label in judged if not label]


def _draw(texts: Sequence[list[int]]) -> list[int]:
    return texts[int(torch.randint(len(texts), ()))]


def _all_texts(examples: Sequence[Example]) -> set[str]:
    texts = {example.question for example in examples}
    return texts.union(item.text for example in examples for item in example.candidates)
