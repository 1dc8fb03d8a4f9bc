"""Page vectors: the vectors of a document's sentences, by which a selector finds context.

Static vectors are the shipped ones; an encoder is part of the selector's bundle; n-grams need no
vectors.
"""

import hashlib
from collections.abc import Collection
from functools import cache

import numpy as np

from rejoinder.bundle.folder import Bundle, open_bundle
from rejoinder.errors import BundleError
from rejoinder.models.selector.context import ContextConfig, list_texts
from rejoinder.models.selector.similarity import (
    Cosine,
    Embedder,
    EncodedTexts,
    Ngrams,
    SentenceEncoder,
    Similarity,
    StaticTexts,
)
from rejoinder.models.sidecar import Bytes
from rejoinder.models.static_vectors.vectors import SHIPPED_VECTORS, load_vectors
from rejoinder.types import Document

ENCODER, ENCODER_VOCABULARY = "encoder.onnx", "encoder.txt"
VECTORS = "vectors"
"""The setting of a bundle that identifies the static vectors it was trained with."""


def open_similarity(context: ContextConfig, bundle: Bundle) -> Similarity | None:
    """Return the similarity by which a selector finds context; None where it reads no page.

    Raises:
        BundleError: its vectors are not those that are installed, or its encoder is corrupt.
    """
    if not context.has_page:
        return None
    if context.similarity == "ngrams":
        return Ngrams()
    if context.similarity == "static":
        if bundle.manifest.config.get(VECTORS) != name_vectors():
            raise BundleError(
                f"{bundle.folder}: was trained with other static vectors than those that come"
                " with rejoinder; train it again"
            )
        return get_static()
    try:
        network = (bundle.folder / ENCODER).read_bytes()
    except OSError as error:
        raise bundle.refuse(f"{ENCODER} is missing: {error}") from error
    vocabulary = bundle.read_text(ENCODER_VOCABULARY).split("\n")[:-1]
    return Cosine(EncodedTexts(SentenceEncoder(network, vocabulary, bundle.folder)))


def name_weights(context: ContextConfig, bundle: Bundle) -> list[str]:
    """Return the checksums that identify the vectors of a similarity."""
    if context.similarity == "static":
        return [name_vectors()]
    return [str(bundle.manifest.files.get(name)) for name in (ENCODER, ENCODER_VOCABULARY)]


@cache
def get_static() -> Cosine:
    """Return the cosine of the shipped vectors."""
    return Cosine(StaticTexts(load_vectors()))


@cache
def name_vectors() -> str:
    """Return the checksum that identifies the shipped vectors."""
    return str(open_bundle(SHIPPED_VECTORS).manifest.files["vectors.safetensors"])


class PageEncoder:
    """Turns documents into the vectors by which a selector's bundle finds context.

    Bundles that embed with the same weights have the same hash, and read each other's vectors.
    """

    name = "context"

    def __init__(self, bundle: Bundle, config: ContextConfig, embedder: Embedder) -> None:
        self.folder = bundle.folder
        weights = name_weights(config, bundle)
        self.hash = hashlib.sha256("\n".join(weights).encode()).hexdigest()[:16]
        self._embedder = embedder

    @property
    def row_bytes(self) -> int:
        """The length of a vector, in bytes."""
        return 4 * self._embedder.width

    def encode(self, document: Document, headings: Collection[int]) -> list[Bytes]:  # noqa: ARG002
        """Return one row per sentence, headings included, and one for the title after them."""
        texts = list_texts(document.sentences[:], document.title)
        vectors = self._embedder.embed(texts).astype("<f4")
        return list(vectors.view(np.uint8)[:, None])


def open_page_encoder(bundle: Bundle) -> PageEncoder:
    """Return the encoder of the page vectors that a selector's bundle reads.

    Raises:
        BundleError: it reads none, or its weights are missing.
    """
    try:
        config = ContextConfig(**bundle.manifest.config.get("context", {}))
    except (TypeError, ValueError) as error:
        raise bundle.refuse(f"cannot read its settings of context: {error}") from error
    similarity = open_similarity(config, bundle)
    if not isinstance(similarity, Cosine):
        raise BundleError(
            f"{bundle.folder}: reads no context that is chosen by vectors, so it stores nothing"
            " beside an index; leave out --sidecar"
        )
    return PageEncoder(bundle, config, similarity.vectors)
