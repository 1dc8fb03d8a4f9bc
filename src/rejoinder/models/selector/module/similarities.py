"""What finds the context of a selector in training, and what of it goes into the bundle."""

from functools import cache
from pathlib import Path
from typing import Any

from rejoinder.models.encoders.loading import order_pieces
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.module.selector import SelectorConfig, load_selector
from rejoinder.models.selector.pair_reader import PairReader
from rejoinder.models.selector.sentence_encoder import MAX_TOKENS, SentenceEncoder
from rejoinder.models.selector.similarities import (
    ENCODER,
    ENCODER_VOCABULARY,
    VECTORS,
    get_static,
    name_vectors,
)
from rejoinder.models.selector.similarity import Cosine, EncodedTexts, Ngrams, Similarity
from rejoinder.models.selector.tokens import PairTokens
from rejoinder.text.wordpiece import WordPiece


def make_reader(config: SelectorConfig, vocabulary: tuple[str, ...]) -> PairReader:
    """Return what turns text into the inputs of a selector's network."""
    tokens = PairTokens(WordPiece(vocabulary), max_tokens=config.max_tokens)
    return PairReader(tokens, config.context, get_similarity(config.context))


def get_similarity(context: ContextConfig) -> Similarity | None:
    """Return the similarity that the runtime will use; None where no page is read.

    Raises:
        InputError: the encoder cannot be found.
    """
    if not context.has_page:
        return None
    if context.similarity == "ngrams":
        return Ngrams()
    return get_static() if context.similarity == "static" else _get_encoder()


def get_vector_width(similarity: str) -> int:
    """Return the width of the vectors that a cosine compares."""
    found = get_similarity(ContextConfig("stored", similarity))
    assert isinstance(found, Cosine), "only a cosine has vectors"
    return found.vectors.width


def get_files(context: ContextConfig) -> dict[str, bytes]:
    """Return the files that a bundle needs to find its context."""
    if not context.has_page or context.similarity != "encoder":
        return {}
    network, pieces = _build_encoder()
    return {ENCODER: network, ENCODER_VOCABULARY: "".join(f"{x}\n" for x in pieces).encode()}


def get_settings(context: ContextConfig) -> dict[str, Any]:
    """Return the settings that a bundle needs to find its context."""
    if not context.has_page or context.similarity != "static":
        return {}
    return {VECTORS: name_vectors()}


@cache
def _get_encoder() -> Cosine:
    network, pieces = _build_encoder()
    return Cosine(EncodedTexts(SentenceEncoder(network, pieces, Path(ENCODER))))


@cache
def _build_encoder() -> tuple[bytes, tuple[str, ...]]:
    """Return the default encoder as the runtime opens it, with its vocabulary."""
    from rejoinder.models.encoders.onnx_bert import build_sentence_encoder

    model, vocabulary = load_selector(SelectorConfig(max_tokens=MAX_TOKENS))
    rows = order_pieces(vocabulary)
    network = build_sentence_encoder(model.encoder, rows, max_tokens=MAX_TOKENS)
    return network, tuple(vocabulary[row] for row in rows)
