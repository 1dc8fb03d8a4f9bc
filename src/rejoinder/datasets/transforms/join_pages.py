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
        documents = (item.document for item in example.candidates)
        for document in {item.id: item for item in documents if item and item.title}.values():
            page = pages.setdefault(document.title, [])
            key = (document.title, tuple(document.sentences))
            if key not in starts:
                starts[key] = len(page)
                page.extend(document.sentences)
    whole = {title: Document(title, title, tuple(page)) for title, page in pages.items()}

    def move(candidate: Candidate) -> Candidate:
        document, position = candidate.document, candidate.position
        if document is None or not document.title or position is None:
            return candidate
        position += starts[document.title, tuple(document.sentences)]
        return replace(candidate, document=whole[document.title], position=position)

    return [
        replace(example, candidates=tuple(move(item) for item in example.candidates))
        for example in examples
    ]
