"""Imports a pretrained model as a bundle: a cross-encoder or a sentence encoder."""

from rejoinder.bundle.folder import Manifest
from rejoinder.errors import MissingExtraError
from rejoinder.models.encoders.source import SELECTOR, SENTENCE_ENCODER, ImportOptions

__all__ = ["ImportOptions", "import_model"]


def import_model(options: ImportOptions, *, command: str = "") -> Manifest:
    """Write a pretrained model as a bundle, if the runtime computes as it does.

    Raises:
        InputError: the model cannot be loaded or is not supported.
        BundleError: the folder cannot be written, or the results differ too much.
        MissingExtraError: a library that it needs is not installed.
    """
    try:
        if (options.kind or _find_kind(options.source)) == SELECTOR:
            from rejoinder.models.selector.export_pretrained import import_classifier

            return import_classifier(options, command=command)
        from rejoinder.models.sentence_encoder.export import import_encoder

        return import_encoder(options, command=command)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError("importing a model", extra="train") from error


def _find_kind(source: str) -> str:
    """Return what a model of `transformers` is by its configuration."""
    from rejoinder.models.encoders.loading import read_config

    heads = read_config(source).architectures or []
    is_classifier = any(head.endswith("ForSequenceClassification") for head in heads)
    return SELECTOR if is_classifier else SENTENCE_ENCODER
