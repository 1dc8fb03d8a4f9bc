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

from rejoinder.datasets.files import JsonObject, read_json_lines
from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.types import Example

_TAG = re.compile(r"</?[A-Z]\S*>")
"""HTML tags among the tokens of a page: <P>, </Li>, <Td_colspan="2">."""


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
    for row in _read_rows(paths):
        page = _read_page(row)
        chosen = {
            _read_span(annotation.get_object("long_answer"))
            for annotation in row.get_objects("annotations")
        }
        yield to_ordered_example(
            row.get_id("example_id"),
            page.question,
            [
                Judged(_to_text(page.tokens[start:end]), (start, end) in chosen)
                for start, end in _find_paragraphs(row, page.tokens)
            ],
            title=page.title,
        )


def read_pages(paths: Iterable[Path]) -> Iterator[QuestionPage]:
    """Yield the page of each line."""
    return map(_read_page, _read_rows(paths))


def _read_rows(paths: Iterable[Path]) -> Iterator[JsonObject]:
    return (row for path in paths for row in read_json_lines(path))


def _read_page(row: JsonObject) -> QuestionPage:
    title = row.get_optional("document_title", str, "")
    return QuestionPage(row.get("question_text", str), title, _read_tokens(row))


def _read_tokens(row: JsonObject) -> list[str]:
    if row.has("document_text") or not row.has("document_tokens"):
        return row.get("document_text", str).split(" ")
    tokens = []
    # Not get_objects: a page has ten thousand tokens.
    for place, item in enumerate(row.get("document_tokens", list)):
        token = item.get("token") if isinstance(item, dict) else None
        if not isinstance(token, str):
            raise row.error(f"document_tokens[{place}] must be an object with a 'token'")
        tokens.append(token.replace(" ", "_"))
    return tokens


def _find_paragraphs(row: JsonObject, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    for candidate in row.get_objects("long_answer_candidates"):
        start, end = _read_span(candidate)
        if not 0 <= start < end <= len(tokens):
            raise candidate.error(f"tokens {start} to {end} of a page of {len(tokens)}")
        if candidate.get_optional("top_level", bool, True) and tokens[start] == "<P>":
            yield start, end


def _read_span(row: JsonObject) -> tuple[int, int]:
    return row.get("start_token", int), row.get("end_token", int)


def _to_text(tokens: Sequence[str]) -> str:
    return " ".join(token for token in tokens if token and not _TAG.fullmatch(token))
