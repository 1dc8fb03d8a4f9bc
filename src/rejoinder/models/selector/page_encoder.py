"""What a selector needs of a document alone to find context there: its sentences as vectors."""

import hashlib
from collections.abc import Sequence

from rejoinder.bundle.folder import Bundle
from rejoinder.errors import BundleError
from rejoinder.models.selector.context import ContextConfig, list_texts
from rejoinder.models.selector.similarities import name_weights, open_similarity
from rejoinder.models.selector.similarity import Cosine, Embedder, Vectors


class PageEncoder:
    """Turns documents into the vectors by which a selector's bundle finds context.

    Bundles that embed with the same weights have the same hash, and read each other's vectors.
    """

    def __init__(self, bundle: Bundle, config: ContextConfig, embedder: Embedder) -> None:
        self.folder = bundle.folder
        weights = name_weights(config, bundle)
        self.hash = hashlib.sha256("\n".join(weights).encode()).hexdigest()[:16]
        self._embedder = embedder

    @property
    def row_bytes(self) -> int:
        """The length of a vector, in bytes."""
        return 4 * self._embedder.width

    def encode(self, sentences: Sequence[str], title: str) -> Vectors:
        """Return the vectors of the sentences and, last, of the title."""
        return self._embedder.embed(list_texts(sentences, title))


def open_page_encoder(bundle: Bundle) -> PageEncoder:
    """Return what turns documents into the vectors that a selector's bundle needs.

    Raises:
        BundleError: it needs none, or they cannot be had.
    """
    try:
        config = ContextConfig.from_dict(bundle.manifest.config.get("context", {}))
    except (TypeError, ValueError) as error:
        problem = f"cannot read its settings of context: {error}"
        raise BundleError(f"{bundle.folder}: {problem}; export the bundle again") from error
    similarity = open_similarity(config, bundle)
    if not isinstance(similarity, Cosine):
        raise BundleError(
            f"{bundle.folder}: reads no context that is chosen by vectors, so nothing of a document"
            " is stored for it; leave out --context"
        )
    return PageEncoder(bundle, config, similarity.vectors)
