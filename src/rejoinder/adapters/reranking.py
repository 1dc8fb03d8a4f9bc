"""Shared by all adapters: rerank documents by their best sentence, with metadata about it.

    rejoinder_sentence      the sentence, on one line
    rejoinder_start, _end   its offsets in the text of the document, in code points
    rejoinder_score         the score of the scorer; higher is better
    rejoinder_confidence    the probability that it answers, for the first document of a
                            calibrated scorer that had enough time, else None
    rejoinder_abstains      whether the scorer finds no answer likely in any of the documents

If the scorer abstains, all documents are returned, or none with `keep_unanswered=False`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from rejoinder.engine.texts import rank_documents
from rejoinder.errors import MissingExtraError
from rejoinder.models.scorer import Scorer


class Reranked(NamedTuple):
    """A document by its index in the given list, with its score and metadata."""

    place: int
    score: float
    """The score of the scorer."""
    relevance: float
    """The score between 0 and 1."""
    metadata: dict[str, Any]


def rerank(
    question: str,
    texts: Sequence[str],
    *,
    scorer: Scorer,
    titles: Sequence[str] | None = None,
    top_n: int | None = None,
    budget_ms: float | None = None,
    min_confidence: float | None = None,
    keep_unanswered: bool = True,
) -> list[Reranked]:
    """Return the documents, ordered by their best sentence.

    Args:
        top_n: how many documents to return; all by default.
        min_confidence: abstain below this confidence, instead of where the scorer finds
            no answer likely.
        keep_unanswered: return the documents even if the scorer abstains.

    Raises:
        InputError: an argument is wrong, or the scorer has no confidence to compare.
    """
    ranking = rank_documents(
        question,
        texts,
        scorer=scorer,
        titles=titles,
        top=top_n,
        budget_ms=budget_ms,
        min_confidence=min_confidence,
    )
    if ranking.abstains and not keep_unanswered:
        return []
    reranked = []
    for item in ranking.documents:
        metadata = {
            "rejoinder_sentence": item.best.sentence if item.best else "",
            "rejoinder_start": item.best.start if item.best else 0,
            "rejoinder_end": item.best.end if item.best else 0,
            "rejoinder_score": item.score,
            "rejoinder_confidence": ranking.confidence if item.rank == 1 else None,
            "rejoinder_abstains": ranking.abstains,
        }
        reranked.append(Reranked(item.place, item.score, item.relevance, metadata))
    return reranked


def to_text(value: object) -> str:
    """Return a text as it is, and an empty text for any other value."""
    return value if isinstance(value, str) else ""


@contextmanager
def need_extra(extra: str) -> Iterator[None]:
    """Import a framework inside this block, to name the extra if it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"rejoinder's adapter ({error})", extra=extra) from error
