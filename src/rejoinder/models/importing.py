"""Imports a pretrained model as a bundle: a cross-encoder or a sentence encoder."""

from pathlib import Path
from typing import Any

from rejoinder.bundle.folder import Manifest, check_place
from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.encoders.foreign import find_home, find_onnx
from rejoinder.models.encoders.source import SELECTOR, SENTENCE_ENCODER, ImportOptions, read_json
from rejoinder.models.registry import load_object
from rejoinder.models.trial import try_in_child

__all__ = ["ImportOptions", "import_model"]

ONNX = {
    SELECTOR: "rejoinder.models.selector.importing:import_onnx",
    SENTENCE_ENCODER: "rejoinder.models.sentence_encoder.importing:import_onnx",
}
OPEN = {
    SELECTOR: "rejoinder.models.selector.importing:open_described",
    SENTENCE_ENCODER: "rejoinder.models.sentence_encoder.importing:open_described",
}
TORCH = {
    SELECTOR: "rejoinder.models.selector.export_pretrained:import_classifier",
    SENTENCE_ENCODER: "rejoinder.models.sentence_encoder.export:import_encoder",
}
"""What imports a model of each kind from ONNX, what opens it for a trial, and what imports it from
weights that torch reads."""


def import_model(options: ImportOptions, *, command: str = "") -> Manifest:
    """Write a pretrained model as a bundle, if the runtime computes as it does.

    A folder with safetensors is read by torch; one with ONNX alone, or the path of an ONNX file,
    needs no torch.

    Raises:
        InputError: the model cannot be loaded or is not supported.
        BundleError: the folder cannot be written, or the results differ too much.
        MissingExtraError: a library that it needs is not installed.
    """
    source = Path(options.source)
    file = None if any(source.glob("*.safetensors")) else find_onnx(source)
    if file is not None:
        config = read_json(find_home(file) / "config.json", {})
        kind = options.kind or _find_kind(config.get("architectures"))
        _check_context(options, kind)
        check_place(Path(options.to))
        try_in_child(OPEN[kind], options, file)
        manifest: Manifest = load_object(ONNX[kind])(options, file, command=command)
        return manifest
    if source.is_file() or source.suffix == ".onnx":
        problem = (
            "is no ONNX file; give the folder of a model" if source.exists() else "no such file"
        )
        raise InputError(f"{source}: {problem}")
    kind = options.kind or _find_kind(_read_architectures(options.source))
    _check_context(options, kind)
    try:
        manifest = load_object(TORCH[kind])(options, command=command)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError("importing a model", extra="train") from error
    return manifest


def _check_context(options: ImportOptions, kind: str) -> None:
    if options.context != "none" and kind != SELECTOR:
        raise InputError(f"a {kind} reads no context; leave out --context")


def _read_architectures(source: str) -> Any:
    from rejoinder.models.encoders.loading import read_config

    return read_config(source).architectures or ["no head"]


def _find_kind(architectures: Any) -> str:
    """Return what a model is by its config.json; a selector where nothing is said."""
    if not isinstance(architectures, list) or not architectures:
        return SELECTOR
    is_classifier = any(str(item).endswith("ForSequenceClassification") for item in architectures)
    return SELECTOR if is_classifier else SENTENCE_ENCODER
