"""Writes a fine-tuned cross-encoder of `transformers` as a bundle, with its own head."""

from pathlib import Path

from rejoinder.bundle.folder import Manifest, check_place, open_bundle
from rejoinder.errors import InputError
from rejoinder.models.encoders.loading import load_classifier, read_max_length
from rejoinder.models.encoders.source import ImportOptions, describe_training, get_max_tokens
from rejoinder.models.selector.agreement import make_sample
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.export import write_selector
from rejoinder.models.selector.importing import find_activation, make_card
from rejoinder.models.selector.module.classifier import Classifier
from rejoinder.models.selector.module.selector import SelectorConfig
from rejoinder.models.selector.scorer import ACTIVATION


def import_classifier(options: ImportOptions, *, command: str = "") -> Manifest:
    """Write a cross-encoder as a selector's bundle, if it scores as torch does.

    Raises:
        InputError: the model cannot be loaded, is not supported, or has no head with one score.
        BundleError: the folder cannot be written, or the scores differ from torch's.
        MissingExtraError: transformers or onnx is not installed.
    """
    folder = Path(options.to)
    check_place(folder)
    model, tokenizer = load_classifier(options.source, is_trained=True)
    settings = model.config.to_dict()
    max_tokens = get_max_tokens(settings, read_max_length(options.source))
    if max_tokens is None:
        raise InputError(f"{options.source}: neither it nor its tokenizer has a maximum length")
    context = ContextConfig(options.context)
    config = SelectorConfig(options.name, None, max_tokens, context, recipe="classifier")
    activation = find_activation(settings, options.source)
    precision = "int8" if options.int8 else "fp32"
    write_selector(
        folder,
        Classifier(config, model),
        tokenizer,
        precision=precision,
        training=describe_training(options, command),
        sample=make_sample(),
        files={"README.md": make_card(options, precision, activation, max_tokens)},
        settings={ACTIVATION: activation},
    )
    return open_bundle(folder).manifest
