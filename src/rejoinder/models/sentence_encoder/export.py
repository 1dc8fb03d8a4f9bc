"""Writes sentence encoders as bundles: a pretrained transformer, or a trained static table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rejoinder.bundle.folder import Bundle, Manifest, check_place, write_bundle
from rejoinder.errors import BundleError, InputError, MissingExtraError
from rejoinder.models.encoders.loading import DEFAULT, find_encoder
from rejoinder.models.selector.export import write_network
from rejoinder.models.sentence_encoder import static, transformer
from rejoinder.models.sentence_encoder.encoder import Matrix
from rejoinder.models.sentence_encoder.static import PartWeights
from rejoinder.models.sentence_encoder.transformer import TransformerEncoder
from rejoinder.models.static_vectors.vectors import quantise_rows

MAX_TOKENS = 256
MIN_COSINE = {"fp32": 0.9999, "int8": 0.98}
"""Between a sample's vectors and those of torch."""
SAMPLE = ("how long is it?", "The river is 230 km long.", "Glaciers: They move slowly downhill.")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a pretrained encoder is read."""

    to: Path | str
    encoder: str = DEFAULT
    """Folder, or name on a hub, of a BERT-like encoder."""
    pooling: str = "mean"
    """A text's vector is the `mean` of its states, or the `first` state."""
    question_prefix: str = ""
    """Goes before a question; bge's is "Represent this sentence for searching relevant passages: ".
    """
    licence: str = ""
    """The licence of the weights, for the card."""


def import_encoder(options: ImportOptions, *, command: str = "") -> None:
    """Write a pretrained encoder as an int8 bundle, for `index add --embed`.

    Raises:
        InputError: the encoder cannot be loaded, or is not BERT-like.
        BundleError: the folder cannot be written, or the vectors differ from torch's.
        MissingExtraError: transformers or onnx is not installed.
    """
    folder = Path(options.to)
    check_place(folder)
    encoder, vocabulary = _load(options.encoder)
    expected = _encode_with_torch(encoder, vocabulary, options.pooling)
    config = {
        "max_tokens": MAX_TOKENS,
        "pooling": options.pooling,
        "question_prefix": options.question_prefix,
    }
    write_network(
        folder,
        Manifest(
            transformer.KIND,
            config,
            precision="int8",
            tolerance=1 - MIN_COSINE["int8"],
            training={"data": "none: a pretrained encoder", "command": command},
        ),
        {"README.md": _describe_import(options).encode()},
        encoder=encoder,
        vocabulary=vocabulary,
        build=partial(_build, encoder, options.pooling),
        compare=partial(_compare, expected),
    )


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
    """Write a table of word pieces, quantised to int8, with the gains of questions."""
    from safetensors.numpy import save

    rows, scales = quantise_rows(table)
    manifest = Manifest(
        static.KIND,
        {"weights": weights._asdict(), "width": table.shape[1]},
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


def _load(name: str) -> tuple[Any, list[str]]:
    """Return an encoder, and the word piece of each row of its embedding."""
    try:
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise MissingExtraError("importing an encoder", extra="train") from error
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    place = find_encoder(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(place)
        encoder = AutoModel.from_pretrained(place, attn_implementation="eager").eval()
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{name}: cannot be loaded as an encoder: {reason}") from error
    if encoder.config.model_type != "bert":
        raise InputError(f"{name}: a {encoder.config.model_type} encoder; only BERT is read")
    pieces: Any = tokenizer.convert_ids_to_tokens(list(range(encoder.config.vocab_size)))
    return encoder, pieces


def _encode_with_torch(encoder: Any, vocabulary: Sequence[str], pooling: str) -> Matrix:
    from rejoinder.models.has.encoder import TextTokens
    from rejoinder.text.wordpiece import WordPiece

    tokens = TextTokens(WordPiece(vocabulary), max_tokens=MAX_TOKENS)
    vectors = []
    with torch.no_grad():
        for text in SAMPLE:
            states = encoder(torch.tensor([tokens.encode(text)])).last_hidden_state[0]
            vector = states.mean(dim=0) if pooling == "mean" else states[0]
            vectors.append(torch.nn.functional.normalize(vector, dim=0).numpy())
    return np.stack(vectors)


def _build(encoder: Any, pooling: str, rows: Sequence[int], precision: str) -> bytes:
    try:
        from rejoinder.models.encoders.onnx_bert import build_sentence_encoder
    except ImportError as error:
        raise MissingExtraError("importing an encoder", extra="train") from error
    return build_sentence_encoder(
        encoder, rows, max_tokens=MAX_TOKENS, pooling=pooling, is_int8=precision == "int8"
    )


def _compare(expected: Matrix, bundle: Bundle, precision: str) -> dict[str, Any]:
    """Compare the vectors of the sample with torch's; return fields of the manifest."""
    encoder = TransformerEncoder(bundle)
    cosines = [
        float(encoder.encode(text) @ row) for text, row in zip(SAMPLE, expected, strict=True)
    ]
    if min(cosines) < MIN_COSINE[precision]:
        raise BundleError(
            f"{bundle.folder}: in {precision} its vectors differ from torch's"
            f" (cosine {min(cosines):.4f}); it is not written"
        )
    return {"scores": {"smallest cosine with torch": round(min(cosines), 5)}}


def _describe_import(options: ImportOptions) -> str:
    name = Path(options.encoder).name
    return f"""# {name} as a sentence encoder

Vectors of length 1 for semantic search: `rejoinder index add FILES --index DIR --embed THIS`.

- **Made from** {name}; a text's vector is its {options.pooling} state. int8 network.
- **Questions** begin with: {options.question_prefix or "nothing"}
- **Licence** of the weights: {options.licence or "see the model's own card"}
"""
