"""The families of sentence encoders, which also score candidates by cosine."""

from rejoinder.bundle.folder import Bundle
from rejoinder.models.onnx_session import Runtime
from rejoinder.models.registry import Family, lazy
from rejoinder.models.scorer import Scorer


def _open(bundle: Bundle, runtime: Runtime) -> Scorer:
    from rejoinder.models.sentence_encoder.scorer import CosineScorer
    from rejoinder.models.sentence_encoder.static import KIND, StaticEncoder
    from rejoinder.models.sentence_encoder.transformer import TransformerEncoder

    kind = bundle.manifest.kind
    if kind == KIND:
        return CosineScorer(kind, StaticEncoder(bundle))
    return CosineScorer(kind, TransformerEncoder(bundle, runtime))


STATIC = Family(
    "static-encoder",
    "a sentence encoder that sums word vectors, for semantic search",
    _open,
    open_sentence_encoder=lazy("rejoinder.models.sentence_encoder.static:StaticEncoder"),
    training="rejoinder.training.options:STATIC_ENCODER",
)
TRANSFORMER = Family(
    "transformer-encoder",
    "a pretrained transformer as a sentence encoder",
    _open,
    open_sentence_encoder=lazy("rejoinder.models.sentence_encoder.transformer:TransformerEncoder"),
)
