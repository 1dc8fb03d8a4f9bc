"""The similarity that a selector's bundle needs to find its context.

n-grams need nothing, static vectors are the shipped ones, an encoder is in the bundle itself.
"""

from functools import cache

from rejoinder.bundle.folder import Bundle, open_bundle
from rejoinder.errors import BundleError
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.sentence_encoder import SentenceEncoder
from rejoinder.models.selector.similarity import (
    Cosine,
    EncodedTexts,
    Ngrams,
    Similarity,
    StaticTexts,
)
from rejoinder.models.static_vectors.vectors import SHIPPED_VECTORS, load_vectors

ENCODER, ENCODER_VOCABULARY = "encoder.onnx", "encoder.txt"
VECTORS = "vectors"
"""The setting of a bundle that says which static vectors it was trained with."""


def open_similarity(context: ContextConfig, bundle: Bundle) -> Similarity | None:
    """Return what finds the context of a selector; None where it reads no page.

    Raises:
        BundleError: its vectors are not those that are installed, or its encoder is torn.
    """
    if not context.has_page:
        return None
    if context.similarity == "ngrams":
        return Ngrams()
    if context.similarity == "static":
        if bundle.manifest.config.get(VECTORS) != name_vectors():
            problem = "was trained with other static vectors than those that come with rejoinder"
            raise BundleError(f"{bundle.folder}: {problem}; train it again")
        return get_static()
    try:
        network = (bundle.folder / ENCODER).read_bytes()
    except OSError as error:
        problem = f"{ENCODER} is missing: {error}"
        raise BundleError(f"{bundle.folder}: {problem}; export the bundle again") from error
    vocabulary = bundle.read_text(ENCODER_VOCABULARY).split("\n")[:-1]
    return Cosine(EncodedTexts(SentenceEncoder(network, vocabulary, bundle.folder)))


def name_weights(context: ContextConfig, bundle: Bundle) -> list[str]:
    """Return what tells the vectors of a similarity from others: the checksums of its files."""
    if context.similarity == "static":
        return [name_vectors()]
    return [str(bundle.manifest.files.get(name)) for name in (ENCODER, ENCODER_VOCABULARY)]


@cache
def get_static() -> Cosine:
    """Return the cosine of the shipped vectors."""
    return Cosine(StaticTexts(load_vectors()))


@cache
def name_vectors() -> str:
    """Return what tells the shipped vectors from others: the checksum of their file."""
    return str(open_bundle(SHIPPED_VECTORS).manifest.files["vectors.safetensors"])
