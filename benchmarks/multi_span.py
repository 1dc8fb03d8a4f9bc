"""MultiSpanQA (Li et al. 2022) as texts whose sentences answer or not.

Usage: python -m benchmarks.multi_span --data DATA > questions.txt

prints its questions, for `rejoinder calibrate --sentences --exclude questions.txt`.

Its contexts are lists of words with a label each: B begins an answer, I continues it.  The words
are joined to a text as people write it, the text is split into sentences as `highlight` splits it,
and a sentence answers if it holds a word of an answer.
"""

import argparse
import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.corpus_lists import MULTI_SPAN
from rejoinder.engine.layout import place_sentences

_WORD = re.compile(r"\w+")
_CLOSING = re.compile(r"[.,;:!?%)\]}]+|'s|n't|'")
_OPENING = frozenset("([{$#")


@dataclass(frozen=True, slots=True)
class SpannedText:
    """A question, and a text whose sentences answer it or not."""

    id: str
    question: str
    text: str
    labels: tuple[bool, ...]
    """Of the sentences that `highlight` finds in the text."""
    missed: int = 0
    """Sentences that answer and are none of these, such as a heading."""


def read_multi_span(data: Path) -> list[SpannedText]:
    """Return the questions of the validation part, in its order."""
    with gzip.open(data / MULTI_SPAN, "rt", encoding="utf-8") as file:
        rows = json.load(file)["data"]
    return [
        make_text(row["id"], " ".join(row["question"]), row["context"], row["label"])
        for row in rows
    ]


def make_text(id: str, question: str, words: Sequence[str], labels: Sequence[str]) -> SpannedText:
    """Return the text of words, with a label for each of its sentences.

    >>> words = ["Ada", "wrote", "it", ".", "It", "rained", ".", "So", "did", "Bo", "."]
    >>> made = make_text("1", "who wrote it", words, list("BOOOOOOOOBO"))
    >>> made.text, made.labels
    ('Ada wrote it. It rained. So did Bo.', (True, False, True))
    """
    text, starts = join_words(words)
    answers = [start for start, label in zip(starts, labels, strict=True) if label != "O"]
    spans = [place.span for place in place_sentences(text)]
    found = tuple(any(span.start <= at < span.end for at in answers) for span in spans)
    outside = any(not any(span.start <= at < span.end for span in spans) for at in answers)
    return SpannedText(id, question, text, found, int(outside))


def join_words(words: Sequence[str]) -> tuple[str, list[int]]:
    """Return words as a text, and where each begins.

    >>> join_words(["Ada", "(", "a", "countess", ")", "did", "n't", "."])
    ("Ada (a countess) didn't.", [0, 4, 5, 7, 15, 17, 20, 23])
    """
    text, starts = "", []
    for place, word in enumerate(words):
        is_close = not place or words[place - 1] in _OPENING or _CLOSING.fullmatch(word)
        text += "" if is_close else " "
        starts.append(len(text))
        text += word
    return text, starts


def normalise_question(question: str) -> str:
    """Return the words of a question, by which two data sets are compared.

    >>> normalise_question("Who wrote it?")
    'who wrote it'
    """
    return " ".join(_WORD.findall(question.lower()))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    for text in read_multi_span(parser.parse_args().data):
        print(text.question)


if __name__ == "__main__":
    main()
