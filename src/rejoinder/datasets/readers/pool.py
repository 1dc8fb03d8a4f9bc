"""Reads our training pool: JSON lines of sentences with labels, made from published sets.

A line holds id, question, sentences, labels, document and in_document_order.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rejoinder.datasets.json_objects import JsonObject, read_json_lines
from rejoinder.datasets.readers.judged import Judged, to_ordered_example, to_unordered_example
from rejoinder.types import Example


def read_pool(path: Path) -> Iterator[Example]:
    """Yield one example per line; `document` becomes the title of its document.

    Where the sentences are not in document order there is no document either, and no
    position.  A few ids occur twice; the second time such an id ends in " (2)".
    """
    seen: Counter[str] = Counter()
    for row in read_json_lines(path):
        id = row.get("id", str)
        seen[id] += 1
        yield _to_example(row, id if seen[id] == 1 else f"{id} ({seen[id]})")


def _to_example(row: JsonObject, id: str) -> Example:
    question = row.get("question", str)
    judged = _read_judged(row)
    if row.get("in_document_order", bool):
        return to_ordered_example(id, question, judged, title=row.get("document", str))
    return to_unordered_example(id, question, judged)


def _read_judged(row: JsonObject) -> list[Judged]:
    texts = row.get_list("sentences", str)
    labels = row.get_list("labels", int)
    if len(texts) != len(labels):
        raise row.error(f"{len(texts)} sentences but {len(labels)} labels")
    for place, label in enumerate(labels):
        if label not in (0, 1):
            raise row.error(f"labels[{place}] must be 0 or 1, found {label}")
    return [Judged(text, label == 1) for text, label in zip(texts, labels, strict=True)]
