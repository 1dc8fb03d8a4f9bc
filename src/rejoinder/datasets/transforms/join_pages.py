"""Joins the paragraphs of one page, if a data set stores them as separate documents.

The context of a candidate then extends beyond its paragraph.
"""

from collections.abc import Sequence
from dataclasses import replace

from rejoinder.types import Candidate, Document, Example


def join_pages(examples: Sequence[Example]) -> list[Example]:
    """Return the examples with one document per title.

    Paragraphs are joined in the order of the examples, each once.  Documents without a title,
    and candidates without a document or position, stay unchanged.
    """
    starts: dict[tuple[str, tuple[str, ...]], int] = {}
    pages: dict[str, list[str]] = {}
    for example in examples:
        for document in _get_documents(example):
            page = pages.setdefault(document.title, [])
            key = (document.title, tuple(document.sentences))
            if key not in starts:
                starts[key] = len(page)
                page.extend(document.sentences)
    whole = {title: Document(title, title, tuple(page)) for title, page in pages.items()}
    return [_move(example, starts, whole) for example in examples]


def _get_documents(example: Example) -> list[Document]:
    documents = {
        candidate.document.id: candidate.document
        for candidate in example.candidates
        if candidate.document and candidate.document.title
    }
    return list(documents.values())


def _move(
    example: Example,
    starts: dict[tuple[str, tuple[str, ...]], int],
    pages: dict[str, Document],
) -> Example:
    def move(candidate: Candidate) -> Candidate:
        document = candidate.document
        if document is None or not document.title or candidate.position is None:
            return candidate
        start = starts[document.title, tuple(document.sentences)]
        return replace(
            candidate, document=pages[document.title], position=start + candidate.position
        )

    return replace(example, candidates=tuple(move(item) for item in example.candidates))
