"""Pretrained models to import: what their folder holds, and what its files say; without torch."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from rejoinder.errors import InputError, UnknownNameError, shorten

SELECTOR, SENTENCE_ENCODER = "selector", "sentence-encoder"
KINDS = (SELECTOR, SENTENCE_ENCODER)
"""What a pretrained model can become."""
POOLED = {"mean": "the mean of its states", "first": "its first state"}
"""How a text's vector is read from an encoder's states."""
CONTEXTS = ("none", "prefix")
"""What an imported cross-encoder can read without training: the candidate alone, or behind its
title and headings, as one text."""
OFFSET = ("roberta", "xlm-roberta", "camembert", "mpnet")
"""Values of `model_type` whose first position follows the id of padding."""
NO_LIMIT = 100_000
"""A tokenizer without a maximum length has a larger one."""
POOLINGS = {"mean": "mean", "mean_tokens": "mean", "cls": "first", "cls_token": "first"}
"""How sentence-transformers names the poolings that are supported."""
PROMPTS = "config_sentence_transformers.json"
MODULES = ("Transformer", "Pooling", "Normalize")
"""The modules of sentence-transformers that a sentence encoder may consist of."""
Json = TypeVar("Json", dict[str, Any], list[Any])
Reader = Callable[[str, Any], Any]


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How to import a pretrained model."""

    source: str
    """A folder of `transformers`, its name on a hub, or ONNX with a tokenizer.json."""
    to: Path | str
    kind: str | None = None
    """One of `KINDS`; None for what the source is."""
    int8: bool | None = None
    """Whether weights become int8; None for the default of the kind."""
    pooling: str | None = None
    """One of `POOLED`; None for what the source says, else the mean."""
    question_prefix: str | None = None
    """The text before a question; None for what the source says."""
    context: str = "none"
    """One of `CONTEXTS`: what a selector reads of a candidate's document."""
    licence: str = ""
    """The licence of the weights, for the card."""

    def __post_init__(self) -> None:
        """Check the names."""
        if self.pooling is not None and self.pooling not in POOLED:
            raise UnknownNameError("pooling", self.pooling, POOLED)
        if self.kind is not None and self.kind not in KINDS:
            raise UnknownNameError("kind of bundle", self.kind, KINDS)
        if self.context not in CONTEXTS:
            raise UnknownNameError("form of context", self.context, CONTEXTS)

    @property
    def name(self) -> str:
        """The name of the source, without its path."""
        path = Path(self.source)
        return path.resolve().name if path.exists() else self.source


def describe_training(options: ImportOptions, command: str) -> dict[str, Any]:
    """Return where an imported bundle comes from, for its manifest."""
    return {"from": options.name, "data": "none: imported as it is", "command": command}


def read_json(path: Path, default: Json) -> Json:
    """Return the content of a JSON file, of the type of `default`, which a missing file has.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {shorten(error)}") from error
    if not isinstance(content, type(default)):
        raise InputError(f"{path}: holds no JSON {'object' if default == {} else 'list'}")
    return content


def get_max_tokens(config: Mapping[str, Any], limit: Any) -> int | None:
    """Return how many tokens a model reads, None where nothing says it.

    Args:
        config: config.json.
        limit: the tokenizer's `model_max_length`.
    """
    lengths = [int(limit)] if isinstance(limit, int | float) and 0 < limit < NO_LIMIT else []
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and positions > 0:
        padding = config.get("pad_token_id")
        has_offset = config.get("model_type") in OFFSET and isinstance(padding, int)
        lengths.append(positions - (padding + 1 if has_offset and padding is not None else 0))
    return min(lengths, default=None)


def complete(options: ImportOptions, read: Reader) -> ImportOptions:
    """Return the options of a sentence encoder, with what its own files say.

    Args:
        read: returns a JSON file of the source by name, or the default that it is given.

    Raises:
        InputError: it pools in another way, or has a layer after it, or its files do not say.
    """
    listed = read("modules.json", [])
    if not all(isinstance(item, dict) for item in listed):
        raise InputError(f"{options.source}: an entry of its modules.json is no object")
    modules = [str(item.get("type", "")).rpartition(".")[2] for item in listed]
    if others := [module for module in modules if module not in MODULES]:
        raise InputError(
            f"{options.source}: its vectors pass through {others[0]}, which is not supported;"
            f" supported: {', '.join(MODULES)}"
        )
    pooling = options.pooling or _find_pooling(options.source, read("1_Pooling/config.json", {}))
    prompts = read(PROMPTS, {}).get("prompts") or {}
    if not isinstance(prompts, dict):
        raise InputError(f"{options.source}: the prompts in its {PROMPTS} are no object")
    prefix = options.question_prefix
    stated = str(prompts.get("query") or "") if prefix is None else prefix
    return replace(options, pooling=pooling, question_prefix=stated)


def _find_pooling(name: str, config: Mapping[str, Any]) -> str:
    flags = {key.removeprefix("pooling_mode_"): value for key, value in config.items()}
    stated = [key for key, value in flags.items() if value is True and key != "include_prompt"]
    stated = [str(config["pooling_mode"])] if "pooling_mode" in config else stated
    if not stated:
        return "mean"
    if len(stated) > 1 or stated[0] not in POOLINGS:
        raise InputError(
            f"{name}: pools by {', '.join(stated)}, which is not supported; supported: mean, cls"
        )
    return POOLINGS[stated[0]]
