"""Sentence encoders as ONNX, and what an imported one says about itself; without torch."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rejoinder.bundle.folder import Bundle, Manifest, check_place, open_bundle, write_bundle
from rejoinder.errors import BundleError
from rejoinder.models.encoders.foreign import (
    describe_onnx,
    find_home,
    find_precision,
    list_files,
    opening,
    quantise,
)
from rejoinder.models.encoders.source import (
    POOLED,
    ImportOptions,
    complete,
    describe_training,
    read_json,
)
from rejoinder.models.onnx_session import NETWORK
from rejoinder.models.sentence_encoder.encoder import Matrix
from rejoinder.models.sentence_encoder.transformer import KIND, TransformerEncoder

MAX_TOKENS = 256
"""A sentence with its title and heading is rarely longer."""
MIN_PARITY = {"fp32": 0.9999, "int8": 0.98}
"""The least cosine of a sample's vectors with those of the original network, by precision."""
SAMPLE = ("how long is it?", "The river is 230 km long.", "Glaciers: They move slowly downhill.")


def import_onnx(options: ImportOptions, file: Path, *, command: str = "") -> Manifest:
    """Write a sentence encoder in ONNX as a bundle, in int8 if that is asked for.

    Raises:
        InputError: its tokenizer or its settings cannot be read, or are not supported.
        BundleError: the folder cannot be written, the network cannot be run, or int8 changes
            its vectors too much.
        MissingExtraError: a library that it needs is not installed.
    """
    folder = Path(options.to)
    check_place(folder)
    options = _complete(options, file)
    encoder, bundle = open_described(options, file)
    config, files = list_files(bundle)
    precision = find_precision(files[NETWORK])
    manifest = Manifest(KIND, config, training=describe_training(options, command))
    if options.int8 and precision == "fp32":
        precision = "int8"
        files[NETWORK] = quantise(files[NETWORK], str(file))
        expected = np.stack([encoder.encode(text) for text in SAMPLE])
        with TemporaryDirectory() as place:
            write_bundle(Path(place, folder.name), manifest, files)
            fields = check_vectors(expected, open_bundle(Path(place, folder.name)), precision)
        manifest = replace(manifest, tolerance=1 - MIN_PARITY[precision], **fields)
    card = make_card(options, precision)
    write_bundle(folder, replace(manifest, precision=precision), {**files, "README.md": card})
    return open_bundle(folder).manifest


def open_described(options: ImportOptions, file: Path) -> tuple[TransformerEncoder, Bundle]:
    """Open a sentence encoder in ONNX where it is; return it and its description."""
    options = _complete(options, file)
    settings = {"pooling": options.pooling, "question_prefix": options.question_prefix}
    bundle = describe_onnx(file, KIND, settings, max_tokens=MAX_TOKENS)
    with opening(file):
        return TransformerEncoder(bundle), bundle


def _complete(options: ImportOptions, file: Path) -> ImportOptions:
    home = find_home(file)
    return complete(options, lambda name, default: read_json(home / name, default))


def check_vectors(expected: Matrix, bundle: Bundle, precision: str) -> dict[str, Any]:
    """Compare the vectors of the sample with the expected ones; return fields of the manifest."""
    encoder = TransformerEncoder(bundle)
    cosines = [
        float(encoder.encode(text) @ row) for text, row in zip(SAMPLE, expected, strict=True)
    ]
    if not min(cosines) >= MIN_PARITY[precision]:
        raise BundleError(
            f"{bundle.folder.name}: vectors in {precision} differ from those of the original"
            f" network (cosine {min(cosines):.4f}); nothing was written"
        )
    return {"scores": {"smallest cosine with the original": round(min(cosines), 5)}}


def make_card(options: ImportOptions, precision: str) -> bytes:
    """Return the bundle's README.md."""
    return f"""# {options.name} as a sentence encoder

Vectors of length 1 for semantic search: `rejoinder index add FILES --index DIR --embed THIS`.

- **Encoder**: {options.name}, {precision}; a text's vector is {POOLED[str(options.pooling)]}.
- **Prefix of questions**: {options.question_prefix or "none"}
- **Licence of the weights**: {options.licence or "see the encoder's own card"}
""".encode()
