"""HAS: an answer's words are stored as bits, over which a question attends.

Xu & Li 2020, "Hashing based Answer Selection".
"""

from rejoinder.bundle.folder import Bundle
from rejoinder.models.registry import Family
from rejoinder.models.scorer import Scorer
from rejoinder.models.sidecar import SidecarEncoder


def _open(bundle: Bundle, threads: int | None) -> Scorer:
    from rejoinder.models.has.scorer import HasScorer

    return HasScorer(bundle, threads=threads)


def _open_sidecar(bundle: Bundle) -> SidecarEncoder:
    from rejoinder.models.has.scorer import AnswerEncoder

    return AnswerEncoder(bundle)


FAMILY = Family(
    "has",
    "a bi-encoder whose answers are stored as bits (Xu & Li 2020)",
    _open,
    _open_sidecar,
    training="rejoinder.training.options:HAS",
)
