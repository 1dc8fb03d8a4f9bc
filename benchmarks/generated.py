"""Generates data sets in the formats and sizes of published ones that may not be redistributed.

Words follow Zipf's law, and an answer repeats some words of its question.  Every size is the
published one times a share, so that a test writes a few questions and a benchmark all of them.
Everything depends only on the seed.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

RARE_WORDS = 300_000
SYLLABLES = [f"{first}{second}" for first in "bdfgklmnprstvz" for second in "aeiou"]
WORDS, SPREAD, QUESTION_WORDS = 25, 10, 9
SHARED = 4
"""Words of the question in an answer."""


@dataclass(frozen=True, slots=True)
class Size:
    """Questions and candidates of a published file."""

    questions: int
    candidates: int

    def take(self, share: float) -> "Size":
        """Return a share of it, at least two questions."""
        questions = max(2, round(self.questions * share))
        return Size(questions, round(questions * self.candidates / self.questions))


ASNQ = {
    "train": Size(57_242, 20_377_568),
    "dev": Size(2672, 930_062),
    "dev++": Size(2672, 2672 * 1310),
}
NQ_DEV = Size(7830, 7830 * 120)
"""Pages, and their long answer candidates; the number of candidates is a guess."""
NQ_FILES = 5
INSURANCEQA_ANSWERS = 24_981
INSURANCEQA = {
    "train": Size(12_887, 12_887),
    "dev": Size(1000, 500_000),
    "test1": Size(1800, 900_000),
    "test2": Size(1800, 900_000),
}
YAHOOQA = {
    "train": Size(50_112, 250_560),
    "dev": Size(6289, 31_445),
    "test": Size(6283, 31_415),
}


class Texts:
    """Draws words, sentences and questions."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self._words = np.array(list_words(), dtype=object)
        self._chances = np.cumsum(1 / np.arange(1, len(self._words) + 1))

    def draw_words(self, count: int) -> list[str]:
        """Return words, frequent ones more often."""
        drawn = self.rng.random(count) * self._chances[-1]
        return list(self._words[np.searchsorted(self._chances, drawn)])

    def draw_sentences(self, count: int, words: int = WORDS, spread: int = SPREAD) -> list[str]:
        """Return sentences of about so many words."""
        lengths = self.rng.integers(words - spread, words + spread + 1, count)
        flat, ends = self.draw_words(int(lengths.sum())), np.cumsum(lengths).tolist()
        starts = [0, *ends[:-1]]
        return [" ".join(flat[start:end]) for start, end in zip(starts, ends, strict=True)]

    def draw_counts(self, size: Size) -> list[int]:
        """Return the candidates of each question, which add up to all of them; at least two."""
        shares = self.rng.gamma(2.0, size=size.questions)
        free = size.candidates - 2 * size.questions
        counts = 2 + np.floor(shares / shares.sum() * free).astype(int)
        counts[: size.candidates - int(counts.sum())] += 1
        return list(map(int, counts))

    def draw_list(self, count: int, words: int = WORDS) -> tuple[str, list[str], set[int]]:
        """Return a question, its candidates, and the places of one or two answers."""
        question = self.draw_words(QUESTION_WORDS)
        sentences = self.draw_sentences(count, words)
        number = min(count, int(self.rng.integers(1, 3)))
        answers = set(self.rng.choice(count, number, replace=False).tolist())
        for place in answers:
            own = sentences[place].split(" ")
            own[:SHARED] = question[-SHARED:]
            sentences[place] = " ".join(own)
        return " ".join(question), sentences, answers


def list_words() -> list[str]:
    """Return the vocabulary, the most frequent and shortest words first."""
    two = [f"{first}{second}" for first in SYLLABLES for second in SYLLABLES]
    three = (f"{first}{second}" for first in two for second in SYLLABLES)
    return [*SYLLABLES, *two, *islice(three, RARE_WORDS)]


def write_asnq(folder: Path, share: float, splits: Sequence[str] = tuple(ASNQ)) -> None:
    """Write train.tsv, dev.tsv with its two lists of questions, and dev++.tsv."""
    texts = Texts()
    for split in splits:
        size = ASNQ[split].take(share)
        with _create(folder / "asnq" / f"{split}.tsv") as file:
            for number, count in enumerate(texts.draw_counts(size)):
                question, sentences, answers = texts.draw_list(count)
                question += f" q{number}"  # no two questions are the same
                for place, text in enumerate(sentences):
                    label = 4 if place in answers else 1 + (place % 100 == 0) + (place % 97 == 0)
                    file.write(f"{question}\t{text}\t{label}\n")
    if "dev" in splits:
        _write_halves(folder / "asnq")


def _write_halves(folder: Path) -> None:
    """Write the lists that divide the questions of dev.tsv into dev and test."""
    with (folder / "dev.tsv").open(encoding="ascii") as file:
        questions = list(dict.fromkeys(line.partition("\t")[0] for line in file))
    for name, part in (("dev", questions[::2]), ("test", questions[1::2])):
        with _create(folder / f"unique.{name}") as out:
            out.writelines(f"{question}\n" for question in part)


def write_nq_dev(folder: Path, share: float) -> None:
    """Write the full dev files of Natural Questions, packed, with tokens as objects."""
    texts = Texts(1)
    counts = iter(texts.draw_counts(NQ_DEV.take(share)))
    pages = list(enumerate(counts))
    for part in range(NQ_FILES):
        path = folder / "nq" / f"nq-dev-{part:02d}.jsonl.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt", encoding="ascii", compresslevel=1) as file:
            for number, count in pages[part::NQ_FILES]:
                file.write(json.dumps(_draw_page(texts, number, count)) + "\n")


def _draw_page(texts: Texts, number: int, count: int) -> dict[str, Any]:
    """Return one page: paragraphs, of which one may be the long answer."""
    question, paragraphs, answers = texts.draw_list(count, words=60)
    tokens: list[dict[str, Any]] = []
    candidates = []
    for text in paragraphs:
        start = len(tokens)
        inside = [{"token": token, "html_token": False} for token in text.split(" ")]
        tokens += [{"token": "<P>", "html_token": True}, *inside]
        tokens.append({"token": "</P>", "html_token": True})
        candidates.append({"start_token": start, "end_token": len(tokens), "top_level": True})
    chosen = [candidates[place] for place in sorted(answers)] if number % 2 else []
    return {
        "example_id": number,
        "question_text": question,
        "document_title": f"Page {number}",
        "document_html": "",
        "document_tokens": tokens,
        "long_answer_candidates": candidates,
        "annotations": [{"long_answer": span} for span in chosen],
    }


def write_insuranceqa(folder: Path, share: float) -> None:
    """Write InsuranceQA V1: a vocabulary, all answers, and questions with pools of 500."""
    texts, place = Texts(2), folder / "insuranceqa" / "V1"
    words = {word: f"idx_{number}" for number, word in enumerate(list_words()[:30_000], start=1)}

    def encode(text: str) -> str:
        return " ".join(words.get(word, "idx_1") for word in text.split(" "))

    with _create(place / "vocabulary") as file:
        file.writelines(f"{index}\t{word}\n" for word, index in words.items())
    count = max(20, round(INSURANCEQA_ANSWERS * share))
    with _create(place / "answers.label.token_idx") as file:
        for number, text in enumerate(texts.draw_sentences(count, 90, 60), start=1):
            file.write(f"{number}\t{encode(text)}\n")
    for split, size in INSURANCEQA.items():
        name = "question.train.token_idx.label" if split == "train" else (
            f"question.{split}.label.token_idx.pool"
        )  # fmt: skip
        pool = min(500, count)
        with _create(place / name) as file:
            for question in texts.draw_sentences(size.take(share).questions, 8, 3):
                drawn = texts.rng.choice(count, pool, replace=False) + 1
                answers = drawn[: texts.rng.integers(1, 3)].tolist()
                right = " ".join(map(str, answers))
                listed = " ".join(map(str, sorted(drawn.tolist())))
                asked = encode(question)
                row = (asked, right) if split == "train" else (right, asked, listed)
                file.write("\t".join(row) + "\n")


def write_yahooqa(folder: Path, share: float) -> None:
    """Write the three parts of YahooQA: five answers a question, one of them right."""
    texts = Texts(3)
    for split, size in YAHOOQA.items():
        with _create(folder / "yahooqa" / f"{split}.tsv") as file:
            for number in range(size.take(share).questions):
                question, sentences, answers = texts.draw_list(5)
                for place, text in enumerate(sentences):
                    label = int(place == min(answers))
                    file.write(f"{question} q{number}\t{text}\t{label}\n")


def draw_pairs(questions: int, candidates: int) -> Iterator[str]:
    """Yield the lines of each question of an ASNQ file whose lists are equally long."""
    texts = Texts()
    for _ in range(questions):
        question, sentences, answers = texts.draw_list(candidates)
        yield "".join(
            f"{question}\t{text}\t{4 if place in answers else 1}\n"
            for place, text in enumerate(sentences)
        )


def _create(path: Path) -> IO[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("w", encoding="ascii")
