"""The shared parts of the small rankers: a pair encoder, a head over the list, a score."""

from rejoinder.bundle.folder import Bundle
from rejoinder.models.onnx_session import Runtime
from rejoinder.models.registry import Family, load_object
from rejoinder.models.scorer import Scorer


def make_family(name: str, summary: str, *, network: str, encoder: str) -> Family:
    """Return a family of small rankers.

    Args:
        network: the dotted path of its pair encoder in numpy ("package.module:CLASS").
        encoder: the dotted path of the same in torch; its `pair_width` is the width of a pair,
            its `hidden_width` the output width of a head.
    """

    def open_ranker(bundle: Bundle, runtime: Runtime) -> Scorer:
        from rejoinder.models.ranker.scorer import RankerScorer

        return RankerScorer(bundle, load_object(network), threads=runtime.threads or 1)

    trainer = "rejoinder.training.options:RANKER"
    return Family(name, summary, open_ranker, reads_order=True, training=trainer, encoder=encoder)
