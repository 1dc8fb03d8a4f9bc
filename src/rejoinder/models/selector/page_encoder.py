"""Page vectors: the vectors of a document's sentences, by which a selector finds context."""

import hashlib
from collections.abc import Collection

import numpy as np

from rejoinder.bundle.folder import Bundle
from rejoinder.errors import BundleError
from rejoinder.models.selector.context import ContextConfig, list_texts
from rejoinder.models.selector.similarities import name_weights, open_similarity
from rejoinder.models.selector.similarity import Cosine, Embedder
from rejoinder.models.sidecar import Bytes
from rejoinder.types import Document


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
        config = ContextConfig.from_dict(bundle.manifest.config.get("context", {}))
    except (TypeError, ValueError) as error:
        raise bundle.refuse(f"cannot read its settings of context: {error}") from error
    similarity = open_similarity(config, bundle)
    if not isinstance(similarity, Cosine):
        raise BundleError(
            f"{bundle.folder}: reads no context that is chosen by vectors, so it stores nothing"
            " beside an index; leave out --sidecar"
        )
    return PageEncoder(bundle, config, similarity.vectors)
