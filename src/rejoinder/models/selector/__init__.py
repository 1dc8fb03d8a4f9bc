"""Selectors: cross-encoders that read a question with one candidate, and with its context."""

from rejoinder.bundle.folder import Bundle
from rejoinder.models.registry import Family
from rejoinder.models.scorer import Scorer
from rejoinder.models.sidecar import SidecarEncoder


def _open(bundle: Bundle, threads: int | None) -> Scorer:
    from rejoinder.models.selector.scorer import SelectorScorer

    return SelectorScorer(bundle, threads=threads)


def _open_sidecar(bundle: Bundle) -> SidecarEncoder:
    from rejoinder.models.selector.page_encoder import open_page_encoder

    return open_page_encoder(bundle)


FAMILY = Family(
    "selector",
    "a transformer that reads question and candidate together; the best and slowest",
    _open,
    _open_sidecar,
    training="rejoinder.training.options:SELECTOR",
)
