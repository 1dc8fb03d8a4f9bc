"""Batches of token ids: candidate lists for a selector, triplets for HAS.

Texts are sorted by length and padded in chunks, because a transformer's step costs by the
token.
"""

import random
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
import torch
from torch import Tensor

from rejoinder.datasets.stream import ExampleStream
from rejoinder.errors import TrainingError
from rejoinder.models.encoders.tokens import TextTokens
from rejoinder.models.has.module import Texts, pad_texts
from rejoinder.models.onnx_session import Feed, pad
from rejoinder.models.selector.pair_reader import PairReader
from rejoinder.text.packed import PackedTexts
from rejoinder.text.wordpiece import pretokenize
from rejoinder.training.mixing import Part
from rejoinder.types import Candidate, Document, Example

MAX_CANDIDATES = 8
ELSEWHERE = 12
"""Sentences drawn from other lists; the most similar one becomes a negative."""
CHUNK = 32
"""Pairs, or texts that are scored, that are padded to the same length."""
TRIPLET_CHUNK = 16
"""Candidates of triplets that are padded to the same length."""
MAX_DRAWS = 1000
"""Draws of a wrong candidate from all lists, until all of them are taken to be right."""

MAX_KNOWN_TEXTS = 1 << 15
"""Texts whose tokens are found again: neighbouring questions often share their candidates."""

Chosen = list[tuple[Candidate, float]]
"""Candidates, and the target of each: its label, or a share of it."""


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
    Only the chosen candidates are kept, without their documents unless the selector reads
    context.  Lists are tokenised when a step needs them.
    """

    def __init__(
        self,
        examples: Iterable[Example],
        reader: PairReader,
        *,
        seed: int = 0,
        max_candidates: int | None = MAX_CANDIDATES,
        targets: Iterable[Sequence[float]] | None = None,
    ) -> None:
        """Read the examples, twice if negatives come from elsewhere.

        Args:
            targets: of each example's candidates, if they are not its labels; then all
                candidates are kept, in their order.
            max_candidates: of each list; None keeps all, and adds none from elsewhere.

        Raises:
            TrainingError: the second pass gave other examples than the first.
        """
        self._reader = reader
        self._has_targets = targets is not None
        self._questions: list[str] = []
        self._lists: list[Chosen] = []
        strip: Callable[[Candidate], Candidate] = _drop_document
        if reader.reads_context:
            strip = _keep_title if reader.reads_topic else _share_documents()
        elsewhere = Elsewhere()
        if targets is not None:
            max_candidates = None
        given = None if targets is None else iter(targets)
        for at, example in enumerate(examples):
            chosen = (
                choose_candidates(example, limit=max_candidates, rng=random.Random(f"{seed}/{at}"))
                if given is None
                else list(zip(example.candidates, next(given, ()), strict=True))
            )
            self._questions.append(example.question)
            self._lists.append([(strip(item), label) for item, label in chosen])
            if max_candidates is not None:
                elsewhere.add(example)
        drawn = elsewhere.draw(examples, self._questions, random.Random(seed), strip)
        for number, item in drawn.items():
            self._lists[number].append((item, False))

    def describe(self) -> dict[str, int]:
        """Return the counts that identify these lists in a checkpoint's fingerprint."""
        targets = [target for pairs in self._lists for _, target in pairs]
        described = {
            "questions": len(self._lists),
            "pairs": len(targets),
            "characters": sum(len(item.text) for pairs in self._lists for item, _ in pairs),
        }
        if self._has_targets:
            described["targets"] = zlib.crc32(np.array(targets).tobytes())
        return described

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


def _drop_document(item: Candidate) -> Candidate:
    return replace(item, document=None)


def _keep_title(item: Candidate) -> Candidate:
    document = item.document and Document(item.document.id, item.document.title)
    return replace(item, document=document)


def _share_documents() -> Callable[[Candidate], Candidate]:
    """Return a function that gives candidates of equal documents the same document."""
    known: dict[tuple[str, ...], Document] = {}

    def share(item: Candidate) -> Candidate:
        if item.document is None:
            return item
        key = (item.document.id, item.document.title, *item.document.sentences)
        document = known.setdefault(key, item.document)
        return item if document is item.document else replace(item, document=document)

    return share


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


def choose_candidates(example: Example, *, limit: int | None, rng: random.Random) -> Chosen:
    """Return at most `limit` candidates: the answers (half of it at most), then negatives.

    Half of the negatives share most words with the question, half are drawn at random.
    """
    answers, wrong = _split_judged(example)
    if limit is not None and len(example.candidates) > limit:
        rng.shuffle(answers)
        answers = answers[: max(1, limit // 2)]
        rng.shuffle(wrong)
        question_words = set(pretokenize(example.question))
        wrong.sort(key=lambda item: -_count_shared(question_words, item.text))
        room = limit - len(answers)
        hard, rest = wrong[: (room + 1) // 2], wrong[(room + 1) // 2 :]
        wrong = hard + rng.sample(rest, min(len(rest), room - len(hard)))
    return [*((item, 1.0) for item in answers), *((item, 0.0) for item in wrong)]


def _count_shared(words: set[str], text: str) -> int:
    return len(words.intersection(pretokenize(text)))


class Elsewhere:
    """Draws for each question a sentence of another list, of the same page if there is one.

    The draw needs only a hash of each text, 8 bytes.  The drawn sentences are read in a second
    pass, so that no text is kept for it, and the draw does not depend on the size of the data.
    """

    def __init__(self) -> None:
        self._hashes = array("q")  # of all candidates
        self._ends = array("q")  # of each question's candidates
        self._titles: dict[str, _Page] = {}
        self._pages: list[_Page] = []  # of each question

    def add(self, example: Example) -> None:
        """Add the candidates of the next question."""
        page = self._titles.setdefault(_get_title(example), _Page())
        page.add(len(self._hashes), len(example.candidates))
        self._pages.append(page)
        self._hashes.extend(hash(item.text) for item in example.candidates)
        self._ends.append(len(self._hashes))

    def draw(
        self,
        examples: Iterable[Example],
        questions: Sequence[str],
        rng: random.Random,
        strip: Callable[[Candidate], Candidate],
    ) -> dict[int, Candidate]:
        """Return the drawn sentence that shares most words with each question, by its number.

        Args:
            examples: the added ones, to be read again.
            strip: removes from a candidate what is not needed of it.
        """
        places, numbers = self._draw_places(rng)
        best: dict[int, tuple[tuple[int, str, int], Candidate]] = {}
        order = np.argsort(places, kind="stable")
        found = self._find(examples, np.asarray(places)[order].tolist())
        get_words = cache(lambda number: set(pretokenize(questions[number])))
        for draw, item in zip(order.tolist(), found, strict=True):
            number = numbers[draw]
            shared = _count_shared(get_words(number), item.text)
            rank = (-shared, item.text, draw)
            if number not in best or rank < best[number][0]:
                best[number] = rank, strip(item)
        return {number: item for number, (_, item) in best.items()}

    def _draw_places(self, rng: random.Random) -> "tuple[array[int], array[int]]":
        """Return places among all candidates, and the number of the question of each."""
        places, numbers = array("q"), array("q")
        start = 0
        for number, (page, end) in enumerate(zip(self._pages, self._ends, strict=True)):
            own = set(self._hashes[start:end])
            everything = range(len(self._hashes))
            drawn = self._draw_others(page, own, rng) or self._draw_others(everything, own, rng)
            places.extend(drawn)
            numbers.extend([number] * len(drawn))
            start = end
        return places, numbers

    def _draw_others(self, places: "_Page | range", own: set[int], rng: random.Random) -> list[int]:
        drawn = rng.choices(places, k=ELSEWHERE) if places else []
        return [place for place in drawn if self._hashes[place] not in own]

    def _find(self, examples: Iterable[Example], places: Sequence[int]) -> Iterator[Candidate]:
        """Yield the candidates at these places, which rise."""
        done = first = 0
        for example in examples if places else ():
            last = first + len(example.candidates)
            while done < len(places) and places[done] < last:
                item = example.candidates[places[done] - first]
                if hash(item.text) != self._hashes[places[done]]:
                    raise TrainingError(_CHANGED)
                yield item
                done += 1
            first = last
        if done < len(places):
            raise TrainingError(_CHANGED)


_CHANGED = (
    "the second pass over the examples gave others than the first; do not change the files"
    " during a training, and give a list instead of a generator"
)


class _Page:
    """The candidates of all questions about one page, as places among all candidates."""

    def __init__(self) -> None:
        self._starts, self._ends = array("q"), array("q")

    def add(self, start: int, count: int) -> None:
        self._starts.append(start)
        self._ends.append(len(self) + count)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, number: int) -> int:
        at = bisect_right(self._ends, number)
        return self._starts[at] + number - (self._ends[at - 1] if at else 0)


def _get_title(example: Example) -> str:
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
    list has none; an answer of the same question is never drawn.
    """

    def __init__(self, examples: Iterable[Example], tokens: TextTokens) -> None:
        self._texts = PackedTexts()
        self._questions, self._answers, self._wrong = array("i"), array("i"), array("i")
        self._wrong_ends = array("q", [0])
        self._right: dict[str, list[int]] = {}  # the answers of each question
        self._asked: list[str] = []
        add = lru_cache(MAX_KNOWN_TEXTS)(lambda text: self._texts.add(tokens.encode(text)))
        for example in examples:
            answers, wrong = _split_judged(example)
            self._questions.append(add(example.question))
            right = [add(item.text) for item in answers]
            self._answers.extend(right)
            self._right.setdefault(example.question, []).extend(right)
            self._asked.append(example.question)
            self._wrong.extend(add(item.text) for item in wrong)
            self._wrong_ends.append(len(self._wrong))

    def describe(self) -> dict[str, int]:
        """Return the counts that identify these triplets in a checkpoint's fingerprint."""
        all_wrong = self._wrong or self._answers
        texts = (self._questions, self._answers, all_wrong)
        return {
            "triplets": len(self._answers),
            "wrong": len(all_wrong),
            "tokens": sum(map(self._texts.count_tokens, texts)),
        }

    def batch(self, questions: Tensor) -> TripletBatch:
        """Return these triplets; wrong candidates are drawn with torch's generator."""
        places = questions.tolist()
        numbers = [self._answers[place] for place in places]
        numbers += [self._draw_wrong(place) for place in places]
        candidates = [self._texts[number] for number in numbers]
        chunks = [
            (torch.tensor(group), pad_texts([candidates[place] for place in group]))
            for group in group_by_length([*map(len, candidates)], TRIPLET_CHUNK)
        ]
        asked = [self._texts[self._questions[place]] for place in places]
        return TripletBatch(pad_texts(asked), chunks)

    def _draw_wrong(self, place: int) -> int:
        start, end = self._wrong_ends[place], self._wrong_ends[place + 1]
        if start < end:
            return self._wrong[start + int(torch.randint(end - start, ()))]
        anywhere = self._wrong or self._answers
        right = [self._texts[number] for number in self._right[self._asked[place]]]
        for _ in range(MAX_DRAWS):
            number = anywhere[int(torch.randint(len(anywhere), ()))]
            if self._texts[number] not in right:
                return number
        raise TrainingError(
            f"no candidate of the data is wrong for the question {self._asked[place]!r}:"
            " give lists with wrong candidates, or more questions"
        )


def split_answers(part: Part) -> Part:
    """Return a part with one example per answer, without the other answers of its list."""
    return Part(ExampleStream(lambda: _split_answers(part.examples)), part.weight)


def _split_answers(examples: Iterable[Example]) -> Iterator[Example]:
    for example in examples:
        answers, wrong = _split_judged(example)
        labels = (True, *(False for _ in wrong))
        for item in answers:
            yield replace(example, candidates=(item, *wrong), labels=labels)


def split_pairs(part: Part) -> Part:
    """Return a part with one example per pair of its answered questions."""

    def read() -> Iterator[Example]:
        for example in filter(_has_answer, part.examples):
            for item, label in zip(example.candidates, example.labels, strict=True):
                yield replace(example, candidates=(item,), labels=(label,))

    # Without targets, pairs that do not answer would be taken for unanswered questions.
    answered = filter(_has_answer, part.examples)
    targets = [_TARGETS[label] for example in answered for label in example.labels]
    return Part(ExampleStream(read), part.weight, targets)


_TARGETS = {False: (0.0,), True: (1.0,)}


def _has_answer(example: Example) -> bool:
    return any(example.labels)


def _split_judged(example: Example) -> tuple[list[Candidate], list[Candidate]]:
    """Return the answers and the wrong candidates of an example."""
    judged = list(zip(example.candidates, example.labels, strict=True))
    return [item for item, label in judged if label], [item for item, label in judged if not label]
