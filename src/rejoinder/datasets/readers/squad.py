"""Reads SQuAD v1.1 and v2.0 (Rajpurkar et al. 2016, 2018) as sentence selection.

The candidates of a question are the sentences of its paragraph, split by our own splitter; a
sentence is an answer if an annotated span overlaps it.  The document is the whole article: all
sentences of all its paragraphs.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from rejoinder.datasets.files import JsonObject, read_json_object
from rejoinder.text.sentences import SentenceSpan, split_sentences
from rejoinder.types import Candidate, Document, Example

Answers = Literal["first", "all"]


def read_squad(
    path: Path, *, answers: Answers = "first", titles: Collection[str] | None = None
) -> Iterator[Example]:
    """Yield one example per question, in file order; unanswerable ones have no answer.

    Args:
        answers: which annotated spans count: the first, or all.  Annotators sometimes
            chose spans in different sentences.
        titles: read these articles only.
    """
    for article in read_json_object(path).get_objects("data"):
        if titles is None or article.get("title", str) in titles:
            yield from _read_article(article, answers)


def _read_article(article: JsonObject, answers: Answers) -> Iterator[Example]:
    title = article.get("title", str)
    paragraphs = [(row, row.get("context", str)) for row in article.get_objects("paragraphs")]
    split = [split_sentences(context) for _, context in paragraphs]
    texts = [
        sentence.extract(context)
        for (_, context), sentences in zip(paragraphs, split, strict=True)
        for sentence in sentences
    ]
    document = Document(title, title.replace("_", " "), tuple(texts))
    everything = (
        Candidate(f"{title}:{position}", text, document, position)
        for position, text in enumerate(texts)
    )
    for (paragraph, context), sentences in zip(paragraphs, split, strict=True):
        candidates = tuple(islice(everything, len(sentences)))
        for row in paragraph.get_objects("qas"):
            labels = label_sentences(row, context, sentences, answers)
            spans = _read_spans(row, context, "all")
            strings = tuple(dict.fromkeys(context[start:end] for start, end in spans))
            yield Example(row.get("id", str), row.get("question", str), candidates, labels, strings)


def label_sentences(
    question: JsonObject,
    context: str,
    sentences: Sequence[SentenceSpan],
    answers: Answers = "first",
) -> tuple[bool, ...]:
    """Return which sentences of a paragraph overlap an annotated span."""
    spans = _read_spans(question, context, answers)
    return tuple(
        any(start < sentence.end and sentence.start < end for start, end in spans)
        for sentence in sentences
    )


def _read_spans(row: JsonObject, context: str, answers: Answers) -> list[tuple[int, int]]:
    if row.get_optional("is_impossible", bool, False):
        return []
    spans = []
    for answer in row.get_objects("answers"):
        start = answer.get("answer_start", int)
        end = start + len(answer.get("text", str))
        if not 0 <= start <= end <= len(context):
            raise answer.error(f"characters {start} to {end} of a context of {len(context)}")
        spans.append((start, end))
    return spans[:1] if answers == "first" else spans
