"""Reads ASNQ (Garg et al. 2019, "TANDA", arXiv:1911.04118): sentences of Natural Questions' pages.

Question TAB sentence TAB label.  Annotators of Natural Questions mark a long answer (a
paragraph) and a short one (a phrase); the labels are made from them:

    1  outside the long answer, without the short answer
    2  outside the long answer, with the words of the short answer
    3  inside the long answer, without the short answer
    4  inside the long answer, with the short answer

Only 4 is an answer.  The file names no pages: that its order is the order of a page is assumed,
unless the pages of Natural Questions are read beside it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from rejoinder.datasets.files import read_lines
from rejoinder.datasets.readers.natural_questions import read_pages
from rejoinder.datasets.readers.pairs import read_pairs
from rejoinder.errors import DataError
from rejoinder.types import Document, Example

HALVES = "https://github.com/alexa/wqa-cascade-transformers"
"""Publishes the lists of questions that divide dev.tsv into dev and test."""


def read_asnq(path: Path) -> Iterator[Example]:
    """Yield one example per question, its sentences in the order of the file."""
    return read_pairs(path, parse_label=_parse_label)


def read_asnq_half(path: Path, questions: Path) -> Iterator[Example]:
    """Yield the examples whose question is in a list, one question per line.

    Raises:
        DataError: a listed question is not in the file: the two are of different releases.
    """
    listed = {line.strip() for _, line in read_lines(questions)} - {""}
    found = set()
    for example in read_asnq(path):
        if (question := example.question.strip()) in listed:
            found.add(question)
            yield example
    if missing := sorted(listed - found):
        problem = f"{len(missing):,} of {len(listed):,} questions are not in {path}: {missing[0]!r}"
        raise DataError(f"{problem}; get the list of this release from {HALVES}", path=questions)


def read_asnq_over_pages(path: Path, *others: Path, has_list: bool = False) -> Iterator[Example]:
    """Yield the examples with their sentences in the order of their page.

    A sentence is looked for in the text of the page, letters and digits only.  A sentence that
    is not found, or whose question has no page, has neither document nor position.

    Args:
        others: the files of Natural Questions.
        has_list: the first of them is a list of questions instead; see `read_asnq_half`.
    """
    lists, files = (others[:1], others[1:]) if has_list else ((), others)
    read = read_asnq_half(path, *lists) if lists else read_asnq(path)
    examples = [_remove_order(example) for example in read]
    places: dict[str, list[int]] = {}
    for place, example in enumerate(examples):
        places.setdefault(_reduce(example.question), []).append(place)
    for page in read_pages(files):
        for place in places.pop(_reduce(page.question), ()):
            examples[place] = _order(examples[place], page.list_words())
    yield from examples


def _remove_order(example: Example) -> Example:
    items = (replace(item, document=None, position=None) for item in example.candidates)
    return replace(example, candidates=tuple(items))


def _order(example: Example, words: Iterable[str]) -> Example:
    """Return the example with the document that its sentences are on this page."""
    text = _reduce("".join(words))
    starts = {item.text: text.find(_reduce(item.text)) for item in example.candidates}
    sentences = sorted((start, text) for text, start in starts.items() if start >= 0)
    # Without the title: two questions about a page would be joined into one long page.
    document = Document(example.id, "", tuple(text for _, text in sentences))
    positions = {text: place for place, text in enumerate(document.sentences)}
    candidates = [
        replace(item, document=document, position=positions[item.text])
        if item.text in positions
        else item
        for item in example.candidates
    ]
    return replace(example, candidates=tuple(candidates))


def _reduce(text: str) -> str:
    """Return the letters and digits: ASNQ has other spaces and quotes than the pages."""
    return "".join(filter(str.isalnum, text.lower()))


def _parse_label(text: str, path: Path, line: int) -> bool:
    if text not in ("1", "2", "3", "4"):
        raise DataError(f"label must be 1, 2, 3 or 4, found {text!r}", path=path, line=line)
    return text == "4"
