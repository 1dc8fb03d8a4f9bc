"""Reads Natural Questions (Kwiatkowski et al. 2019) as NQ-LA: selecting the long answer.

Reads the simplified JSON lines, whose page is one text (`document_text`), and the full ones, whose
page is a list of tokens (`document_tokens`).  Simplifying replaces the spaces inside a token by
"_", and so does this reader: both give the same examples.  Candidates are the top-level
paragraphs of the page, without lists and tables.  A paragraph is an answer if any annotator
chose exactly it as the long answer; a question whose long answer is a list or a table is kept,
without an answer.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rejoinder.datasets.json_rows import Id, read_json_lines
from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.errors import DataError
from rejoinder.types import Example

_TAG = re.compile(r"</?[A-Z]\S*>")
"""HTML tags among the tokens of a page: <P>, </Li>, <Td_colspan="2">."""


class _Token(msgspec.Struct):
    token: str


class _Page(msgspec.Struct):
    question_text: str
    document_title: str | None = None
    document_text: str | None = None
    document_tokens: tuple[_Token, ...] | None = None

    def __post_init__(self) -> None:
        if self.document_text is None and self.document_tokens is None:
            raise ValueError("field 'document_text' is missing")

    def list_tokens(self) -> list[str]:
        if self.document_text is not None:
            return self.document_text.split(" ")
        return [item.token.replace(" ", "_") for item in self.document_tokens or ()]


class _Span(msgspec.Struct):
    start_token: int
    end_token: int
    top_level: bool | None = None

    @property
    def tokens(self) -> tuple[int, int]:
        return self.start_token, self.end_token


class _Annotation(msgspec.Struct):
    long_answer: _Span


class _Row(_Page, kw_only=True):
    example_id: Id
    annotations: tuple[_Annotation, ...]
    long_answer_candidates: tuple[_Span, ...]


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """A question with the tokens of its page."""

    question: str
    title: str
    tokens: Sequence[str]

    def list_words(self) -> list[str]:
        """Return the tokens that are not tags."""
        return [token for token in self.tokens if token and not _TAG.fullmatch(token)]


def read_natural_questions(*paths: Path) -> Iterator[Example]:
    """Yield one example per line: the paragraphs of a page, in its order."""
    for path in paths:
        for line, row in read_json_lines(path, _Row):
            tokens = row.list_tokens()
            chosen = {annotation.long_answer.tokens for annotation in row.annotations}
            try:
                judged = [
                    Judged(_to_text(tokens[start:end]), (start, end) in chosen)
                    for start, end in _find_paragraphs(row, tokens)
                ]
            except ValueError as error:
                raise DataError(str(error), path=path, line=line) from error
            title = row.document_title or ""
            yield to_ordered_example(str(row.example_id), row.question_text, judged, title=title)


def read_pages(paths: Iterable[Path]) -> Iterator[QuestionPage]:
    """Yield the page of each line."""
    for path in paths:
        for _, row in read_json_lines(path, _Page):
            title = row.document_title or ""
            yield QuestionPage(row.question_text, title, row.list_tokens())


def _find_paragraphs(row: _Row, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    for place, candidate in enumerate(row.long_answer_candidates):
        start, end = candidate.tokens
        if not 0 <= start < end <= len(tokens):
            problem = f"tokens {start} to {end} of a page of {len(tokens)}"
            raise ValueError(f"long_answer_candidates[{place}]: {problem}")
        if candidate.top_level is not False and tokens[start] == "<P>":
            yield start, end


def _to_text(tokens: Sequence[str]) -> str:
    return " ".join(token for token in tokens if token and not _TAG.fullmatch(token))
