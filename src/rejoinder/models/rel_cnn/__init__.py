"""Rel-CNN (Severyn & Moschitti 2015)."""

from rejoinder.bundle.folder import Bundle
from rejoinder.models.registry import Family
from rejoinder.models.scorer import Scorer


def _open(bundle: Bundle, threads: int | None) -> Scorer:
    from rejoinder.models.ranker.scorer import RankerScorer
    from rejoinder.models.rel_cnn.network import RelCnnNetwork

    return RankerScorer(bundle, RelCnnNetwork, threads=threads or 1)


FAMILY = Family(
    "rel-cnn",
    "a small network with two convolutions and a bilinear similarity (Severyn & Moschitti 2015)",
    _open,
    reads_order=True,
    training="rejoinder.training.options:RANKER",
)
