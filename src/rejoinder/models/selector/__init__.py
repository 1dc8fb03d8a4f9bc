"""Selectors: cross-encoders that read a question with one candidate, and with its context."""

from rejoinder.bundle.folder import Bundle
from rejoinder.models.registry import Family
from rejoinder.models.scorer import Scorer


def _open(bundle: Bundle, threads: int | None) -> Scorer:
    from rejoinder.models.selector.scorer import SelectorScorer

    return SelectorScorer(bundle, threads=threads)


FAMILY = Family(
    "selector",
    "a transformer that reads question and candidate together; the best and slowest",
    _open,
    training="rejoinder.training.selector:TRAINER",
)
