"""Reads SQuAD v1.1 and v2.0 (Rajpurkar et al. 2016, 2018) as sentence selection.

The candidates of a question are the sentences of its paragraph, split by our own splitter; a
sentence is an answer if an annotated span overlaps it.  The document is the whole article: all
sentences of all its paragraphs.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from rejoinder.datasets.json_rows import read_json
from rejoinder.text.sentences import SentenceSpan, split_sentences
from rejoinder.types import Candidate, Document, Example

Answers = Literal["first", "all"]


class SquadAnswer(msgspec.Struct):
    """An annotated span of a context."""

    answer_start: int
    text: str

    @property
    def span(self) -> tuple[int, int]:
        """The characters [start, end)."""
        return self.answer_start, self.answer_start + len(self.text)


class SquadQuestion(msgspec.Struct):
    """A question with its answers, of which those of an impossible one do not count."""

    id: str
    question: str
    answers: tuple[SquadAnswer, ...]
    is_impossible: bool | None = None

    def list_spans(self, answers: Answers) -> list[tuple[int, int]]:
        """Return the spans that count."""
        counted = () if self.is_impossible else self.answers
        return [answer.span for answer in counted][: 1 if answers == "first" else None]


class SquadParagraph(msgspec.Struct):
    """A context with its questions."""

    context: str
    qas: tuple[SquadQuestion, ...]

    def __post_init__(self) -> None:
        length = len(self.context)
        for place, question in enumerate(self.qas):
            for number, (start, end) in enumerate(question.list_spans("all")):
                if not 0 <= start <= end <= length:
                    problem = f"characters {start} to {end} of a context of {length}"
                    raise ValueError(f"qas[{place}].answers[{number}]: {problem}")


class SquadArticle(msgspec.Struct):
    """A page of Wikipedia."""

    title: str
    paragraphs: tuple[SquadParagraph, ...]


class Squad(msgspec.Struct):
    """A published file."""

    data: tuple[SquadArticle, ...]


def read_squad(
    path: Path, *, answers: Answers = "first", titles: Collection[str] | None = None
) -> Iterator[Example]:
    """Yield one example per question, in file order; unanswerable ones have no answer.

    Args:
        answers: which annotated spans count: the first, or all.  Annotators sometimes
            chose spans in different sentences.
        titles: read these articles only.
    """
    for article in read_json(path, Squad).data:
        if titles is None or article.title in titles:
            yield from _read_article(article, answers)


def _read_article(article: SquadArticle, answers: Answers) -> Iterator[Example]:
    title = article.title
    split = [split_sentences(paragraph.context) for paragraph in article.paragraphs]
    texts = [
        sentence.extract(paragraph.context)
        for paragraph, sentences in zip(article.paragraphs, split, strict=True)
        for sentence in sentences
    ]
    document = Document(title, title.replace("_", " "), tuple(texts))
    everything = (
        Candidate(f"{title}:{position}", text, document, position)
        for position, text in enumerate(texts)
    )
    for paragraph, sentences in zip(article.paragraphs, split, strict=True):
        candidates = tuple(islice(everything, len(sentences)))
        for row in paragraph.qas:
            labels = label_sentences(row, sentences, answers)
            spans = row.list_spans("all")
            strings = tuple(dict.fromkeys(paragraph.context[start:end] for start, end in spans))
            yield Example(row.id, row.question, candidates, labels, strings)


def label_sentences(
    question: SquadQuestion, sentences: Sequence[SentenceSpan], answers: Answers = "first"
) -> tuple[bool, ...]:
    """Return which sentences of a paragraph overlap an annotated span."""
    spans = question.list_spans(answers)
    return tuple(
        any(start < sentence.end and sentence.start < end for start, end in spans)
        for sentence in sentences
    )
