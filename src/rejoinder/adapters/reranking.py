"""What all adapters share: documents in, the better ones first, each with its best sentence.

A framework's reranker gets documents that someone else has found.  They come back by their
best sentence (`engine.texts`), and a framework's metadata says which it is:

    rejoinder_sentence      the sentence, on one line
    rejoinder_start, _end   where it stands in the document's text, in code points
    rejoinder_score         the scorer's own score; higher is better
    rejoinder_confidence    how likely it answers: known of the first document, where the
                            scorer is calibrated and had time, else None

A scorer that says that no sentence answers does not take documents away, unless
`keep_unanswered=False` is given: then none comes back.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.cascade.loading import load
from rejoinder.engine.texts import rank_documents
from rejoinder.models.scorer import Scorer


class Reranked(NamedTuple):
    """A document that was given, by its place, and what a framework is told about it."""

    place: int
    score: float
    """The scorer's own."""
    relevance: float
    """The score between 0 and 1, as frameworks expect it."""
    metadata: dict[str, Any]


def rerank(
    question: str,
    texts: Sequence[str],
    *,
    scorer: Scorer,
    titles: Sequence[str] | None = None,
    top_n: int | None = None,
    budget_ms: float | None = None,
    keep_unanswered: bool = True,
) -> list[Reranked]:
    """Return the documents by their best sentence, best first.

    Args:
        top_n: how many to return; all if not said.
        keep_unanswered: also return documents where the scorer says that none answers.
    """
    ranking = rank_documents(
        question, texts, scorer=scorer, titles=titles, top=top_n, budget_ms=budget_ms
    )
    if ranking.abstains and not keep_unanswered:
        return []
    found = []
    for item in ranking.documents:
        metadata = {
            "rejoinder_sentence": item.best.sentence if item.best else "",
            "rejoinder_start": item.best.start if item.best else 0,
            "rejoinder_end": item.best.end if item.best else 0,
            "rejoinder_score": item.score,
            "rejoinder_confidence": ranking.confidence if item.rank == 1 else None,
        }
        found.append(Reranked(item.place, item.score, item.relevance, metadata))
    return found


def to_scorer(scorer: Scorer | str | Path) -> Scorer:
    """Return a scorer as it is, or the one with this name, in this bundle or cascade's file."""
    return load(scorer) if isinstance(scorer, str | Path) else scorer


def to_text(value: object) -> str:
    """Return what a framework has as text; nothing where it is something else."""
    return value if isinstance(value, str) else ""
