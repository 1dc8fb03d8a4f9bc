"""Cross-encoders that come as ONNX, and what an imported one says about itself; without torch."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rejoinder.bundle.folder import Bundle, Manifest, check_place, open_bundle, write_bundle
from rejoinder.errors import InputError
from rejoinder.models.encoders.foreign import (
    describe_onnx,
    find_home,
    find_onnx,
    find_precision,
    list_files,
    opening,
    quantise,
)
from rejoinder.models.encoders.source import ImportOptions, describe_training, read_json
from rejoinder.models.onnx_session import CPU, NETWORK, Runtime
from rejoinder.models.scorer import Scores
from rejoinder.models.selector.agreement import check_agreement, make_sample
from rejoinder.models.selector.scorer import ACTIVATION, ACTIVATIONS, KIND, SelectorScorer

STATED = ("activation_fn", "sbert_ce_default_activation_function")
"""Where a config.json names the activation, also within `sentence_transformers`."""


def open_onnx(path: Path, runtime: Runtime = CPU) -> SelectorScorer | None:
    """Return the cross-encoder in a folder with ONNX, or in a file; None where there is none.

    Raises:
        InputError: there are several networks, or there is no tokenizer.
        BundleError: it cannot be run, or has no scoring head.
    """
    file = find_onnx(path)
    if file is None:
        return None
    with opening(file):
        return SelectorScorer(_describe(file), runtime)


def import_onnx(options: ImportOptions, file: Path, *, command: str = "") -> Manifest:
    """Write a cross-encoder in ONNX as a selector's bundle, in int8 if that is asked for.

    Raises:
        InputError: its tokenizer or its settings cannot be read.
        BundleError: the folder cannot be written, the network cannot be run or has no scoring
            head, or int8 changes its scores too much.
        MissingExtraError: a library that it needs is not installed.
    """
    folder = Path(options.to)
    check_place(folder)
    scorer, bundle = open_described(options, file)
    config, files = list_files(bundle)
    if options.context != "none":
        config["context"] = {"form": options.context}
    precision = find_precision(files[NETWORK])
    manifest = Manifest(KIND, config, training=describe_training(options, command))
    if options.int8 and precision == "fp32":
        precision = "int8"
        files[NETWORK] = quantise(files[NETWORK], str(file))
        fields = _compare(scorer, replace(manifest, precision=precision), files)
        manifest = replace(manifest, **fields)
    card = make_card(options, precision, config[ACTIVATION], config["max_tokens"])
    write_bundle(folder, replace(manifest, precision=precision), {**files, "README.md": card})
    return open_bundle(folder).manifest


def open_described(
    options: ImportOptions,  # noqa: ARG001 - what opens a sentence encoder reads them
    file: Path,
) -> tuple[SelectorScorer, Bundle]:
    """Open a cross-encoder in ONNX where it is; return it and its description."""
    bundle = _describe(file)
    with opening(file):
        return SelectorScorer(bundle), bundle


def _describe(file: Path) -> Bundle:
    config = read_json(find_home(file) / "config.json", {})
    return describe_onnx(file, KIND, {ACTIVATION: find_activation(config, str(file))})


def _compare(scorer: SelectorScorer, manifest: Manifest, files: Mapping[str, bytes]) -> Any:
    """Return the manifest's fields about the agreement of a bundle with a scorer."""
    with TemporaryDirectory() as place:
        write_bundle(Path(place, "trial"), manifest, files)
        trial = SelectorScorer(open_bundle(Path(place, "trial")))
        return check_agreement(_score(trial), _score(scorer), manifest.precision)


def _score(scorer: SelectorScorer) -> Scores:
    """Return the logits of the sample."""
    found = [scorer.get_logits(item.question, item.candidates) for item in make_sample()]
    return np.concatenate(found)


def find_activation(config: Mapping[str, Any], name: str) -> str:
    """Return the activation of a cross-encoder: what its config.json says, else none.

    Raises:
        InputError: it has another activation than those of `ACTIVATIONS`.
    """
    inner = config.get("sentence_transformers")
    places = [inner if isinstance(inner, dict) else {}, config]
    stated = next((str(place[key]) for place in places for key in STATED if place.get(key)), "")
    activation = stated.rpartition(".")[2].lower() or "identity"
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise InputError(f"{name}: its activation {stated} is not supported; supported: {known}")
    return activation


def make_card(options: ImportOptions, precision: str, activation: str, max_tokens: int) -> bytes:
    """Return the bundle's README.md."""
    return f"""# {options.name} as a selector

A cross-encoder that was imported with its own head: `rejoinder rank QUESTION FILE --scorer THIS`.

- **Network**: {options.name}, {precision}; it reads {max_tokens} tokens of a pair.
- **Score**: the output of its head, activation: {activation}.
- **Licence of the weights**: {options.licence or "see the model's own card"}
""".encode()
