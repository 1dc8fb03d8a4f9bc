"""Writes sentence encoders as bundles: a pretrained transformer, or a trained static table."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rejoinder.bundle.folder import Manifest, check_place, open_bundle, write_bundle
from rejoinder.errors import InputError
from rejoinder.models.encoders.architectures import get_max_tokens
from rejoinder.models.encoders.export import PooledEncoder, build_pooled, write_network
from rejoinder.models.encoders.loading import load_encoder, read_settings
from rejoinder.models.encoders.source import ImportOptions, complete, describe_training
from rejoinder.models.encoders.tokens import TextTokens
from rejoinder.models.onnx_session import to_feed
from rejoinder.models.sentence_encoder import static, transformer
from rejoinder.models.sentence_encoder.encoder import Matrix
from rejoinder.models.sentence_encoder.importing import (
    MAX_TOKENS,
    MIN_PARITY,
    SAMPLE,
    check_vectors,
    make_card,
)
from rejoinder.models.sentence_encoder.static import MIN_COSINE, PartWeights
from rejoinder.models.static_vectors.vectors import quantise_rows
from rejoinder.text.tokenizer import Tokenizer


def import_encoder(options: ImportOptions, *, command: str = "") -> Manifest:
    """Write a pretrained encoder as a bundle, for `index add --embed`; by default in int8.

    Raises:
        InputError: the encoder cannot be loaded, is not supported, or its width is not a
            multiple of 64.
        BundleError: the folder cannot be written, or the vectors differ from torch's.
        MissingExtraError: transformers or onnx is not installed.
    """
    folder = Path(options.to)
    check_place(folder)
    encoder, tokenizer = load_encoder(options.source)
    options = complete(options, partial(read_settings, options.source))
    width = encoder.config.hidden_size
    if width % 64:
        raise InputError(f"{options.source}: its width is {width}, not a multiple of 64")
    max_tokens = min(MAX_TOKENS, get_max_tokens(encoder.config))
    pooling, precision = str(options.pooling), "fp32" if options.int8 is False else "int8"
    expected = _encode_with_torch(encoder.eval(), tokenizer, pooling, max_tokens)
    config = {
        "max_tokens": max_tokens,
        "pooling": pooling,
        "question_prefix": options.question_prefix,
    }
    write_network(
        folder,
        Manifest(
            transformer.KIND,
            config,
            precision=precision,
            tolerance=1 - MIN_PARITY[precision],
            training=describe_training(options, command),
        ),
        {"README.md": make_card(options, precision)},
        encoder=encoder,
        tokenizer=tokenizer,
        build=build_pooled(encoder, max_tokens, pooling),
        compare=partial(check_vectors, expected),
    )
    return open_bundle(folder).manifest


def write_static_encoder(
    folder: Path,
    vocabulary: Sequence[str],
    table: Matrix,
    gains: Matrix,
    weights: PartWeights,
    *,
    training: Mapping[str, Any],
    card: str,
) -> None:
    """Write a static encoder as a bundle.

    Args:
        table: one row per word piece of the vocabulary; it is quantised to int8.
        gains: the factor of each word piece in a question.
        card: the text of README.md.
    """
    from safetensors.numpy import save

    rows, scales = quantise_rows(table)
    manifest = Manifest(
        static.KIND,
        {"weights": weights._asdict(), "min_cosine": MIN_COSINE, "width": table.shape[1]},
        precision="int8",
        tolerance=0.02,
        training=training,
    )
    tensors: dict[str, NDArray[np.generic]] = {
        "rows": rows,
        "scales": scales,
        "gains": gains.astype(np.float16),
    }
    files = {
        static.FILE: save(tensors),
        static.VOCABULARY: "".join(f"{piece}\n" for piece in vocabulary).encode(),
        "README.md": card.encode(),
    }
    write_bundle(folder, manifest, files)


def _encode_with_torch(encoder: Any, tokenizer: Tokenizer, pooling: str, max_tokens: int) -> Matrix:
    """Return the vectors of the sample, shape (sample, width)."""
    tokens, model = TextTokens(tokenizer, max_tokens=max_tokens), PooledEncoder(encoder, pooling)
    vectors = []
    with torch.inference_mode():
        for text in SAMPLE:
            feed = to_feed(tokens.encode(text))
            inputs = {name: torch.from_numpy(value) for name, value in feed.items()}
            vectors.append(model(**inputs)[0].numpy())
    return np.stack(vectors)
