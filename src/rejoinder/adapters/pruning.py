"""Shared by the adapters that prune: texts without the sentences that do not answer.

    rejoinder_probability   that the best sentence answers
    rejoinder_spans         the parts that were kept, as offsets into the given text, in code points
    rejoinder_compression   the share of the characters that was dropped

    rejoinder_note          what to know about these, for example that the text is not in English

A text of which nothing is left is dropped.  One that is HTML is not read: it stays as it is, with
no probability and a note that says so.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from rejoinder.engine.highlight import highlight_texts
from rejoinder.models.scorer import Scorer


class Pruned(NamedTuple):
    """A text by its index in the given list, with what is left of it."""

    place: int
    text: str
    metadata: dict[str, Any]


def prune(
    question: str,
    texts: Sequence[str],
    *,
    scorer: Scorer,
    titles: Sequence[str] | None = None,
    threshold: float | None = None,
    budget_ms: float | None = None,
) -> list[Pruned]:
    """Return the pruned texts in their order.

    Args:
        threshold: keep sentences from this probability on; by default the one that was fitted so
            that hardly any answer is lost.
    """
    if not texts:
        return []
    highlighted = highlight_texts(
        question, texts, scorer=scorer, titles=titles, budget_ms=budget_ms
    )
    pruned = []
    for place, found in enumerate(highlighted):
        left = found.prune(threshold)
        if left.text:
            metadata: dict[str, Any] = {
                "rejoinder_probability": max(
                    (item.score for item in found.sentences), default=None
                ),
                "rejoinder_spans": [list(span) for span in left.spans],
                "rejoinder_compression": left.compression,
            }
            if found.note:
                metadata["rejoinder_note"] = found.note
            pruned.append(Pruned(place, left.text, metadata))
    return pruned
