"""The selector that a training starts from, and the reader of its inputs."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from rejoinder.bundle.folder import MANIFEST
from rejoinder.models.encoders.architectures import freeze_embeddings, get_max_tokens, keep_layers
from rejoinder.models.encoders.loading import DEFAULT, load_classifier, load_encoder
from rejoinder.models.encoders.tokens import write_tokenizer
from rejoinder.models.registry import list_shipped
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.module.classifier import Classifier
from rejoinder.models.selector.module.selector import Selector, SelectorConfig
from rejoinder.models.selector.pair_reader import KINDS, PairReader, PairTokens
from rejoinder.models.selector.scorer import (
    ENCODER_TOKENIZER,
    ENCODER_VOCABULARY,
    VECTORS,
    get_similarity,
    get_static,
    name_vectors,
)
from rejoinder.models.selector.similarity import ENCODER, MAX_TOKENS, EncodedTexts
from rejoinder.text.tokenizer import Tokenizer


def load_selector(
    config: SelectorConfig, *, seed: int = 0
) -> tuple[Selector | Classifier, Tokenizer]:
    """Return a selector over a pretrained encoder, and the encoder's tokenizer.

    Raises:
        InputError: the encoder cannot be found or loaded, or is not supported.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if config.recipe == "classifier":
            model, tokenizer = load_classifier(config.encoder, is_trained=False)
            encoder = model.base_model
        else:
            encoder, tokenizer = load_encoder(config.encoder)
            model = encoder
        if config.layers is not None:
            keep_layers(encoder, config.layers)
        room = min(config.max_tokens, get_max_tokens(encoder.config))
        config = replace(config, max_tokens=room)
        if config.recipe == "classifier":
            return Classifier(config, model), tokenizer
        selector = Selector(config, encoder)
    freeze_embeddings(encoder, KINDS)
    return selector, tokenizer


def make_reader(config: SelectorConfig, tokenizer: Tokenizer) -> PairReader:
    """Return the reader that turns text into the inputs of a selector's network."""
    tokens = PairTokens(tokenizer, max_tokens=config.max_tokens)
    similarity = get_similarity(config.context, lambda: _open_encoder(config.context.encoder))
    return PairReader(tokens, config.context, similarity)


def get_vector_width(context: ContextConfig) -> int:
    """Return the width of the vectors that a cosine compares."""
    is_static = context.similarity == "static"
    return (get_static() if is_static else _open_encoder(context.encoder)).width


def describe_similarity(context: ContextConfig) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the settings and the files by which a bundle finds its context."""
    if not context.has_page or context.similarity == "ngrams":
        return {}, {}
    if context.similarity == "static":
        return {VECTORS: name_vectors()}, {}
    network, tokenizer = _build_encoder(context.encoder)
    names = {"vocabulary": ENCODER_VOCABULARY, "json": ENCODER_TOKENIZER}
    return {}, {ENCODER: network, **write_tokenizer(tokenizer, **names)}


@cache
def _open_encoder(name: str) -> EncodedTexts:
    return EncodedTexts(*_build_encoder(name), Path(ENCODER))


@cache
def _build_encoder(name: str) -> tuple[bytes, Tokenizer]:
    """Return an encoder as the runtime opens it, with its tokenizer; a selector's has a bundle."""
    from rejoinder.models.encoders.export import build_sentence_encoder

    folder = list_shipped().get(name, Path(name))
    if (folder / MANIFEST).is_file():
        from rejoinder.models.selector.export import get_encoder, reopen_selector

        model, tokenizer = reopen_selector(folder)
        return build_sentence_encoder(get_encoder(model), tokenizer, max_tokens=MAX_TOKENS)
    # Bundles that name no encoder were written when there was one.
    return build_sentence_encoder(*load_encoder(name or DEFAULT), max_tokens=MAX_TOKENS)
