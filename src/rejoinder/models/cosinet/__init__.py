"""Cosinet (Bonadiman & Moschitti 2020)."""

from rejoinder.bundle.folder import Bundle
from rejoinder.models.registry import Family
from rejoinder.models.scorer import Scorer


def _open(bundle: Bundle, threads: int | None) -> Scorer:
    from rejoinder.models.cosinet.network import CosinetNetwork
    from rejoinder.models.ranker.scorer import RankerScorer

    return RankerScorer(bundle, CosinetNetwork, threads=threads or 1)


FAMILY = Family(
    "cosinet",
    "a small network over word vectors that reads a document's order (Bonadiman & Moschitti 2020)",
    _open,
    reads_order=True,
    training="rejoinder.training.options:RANKER",
)
