"""A tiny selector with random weights over a few real word pieces."""

import string
from pathlib import Path
from typing import Any

import torch

from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.module.classifier import Classifier
from rejoinder.models.selector.module.ensemble import AnySelector
from rejoinder.models.selector.module.selector import Selector, SelectorConfig, add_context
from rejoinder.text.wordpiece import WordPiece
from rejoinder.training.selector import read_context

TEXT = (
    "the of and in a is to by ice water cave caves glacier rock summer winter melt melted river"
    " stone deep warm cold wind air form formed carve flow year season valley mountain lake snow"
    " light sound how are most when where who it rained red cat dog here tea hot cup"
)
WORDS = TEXT.split()
MARKS = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]"]
LETTERS = [*string.ascii_lowercase, *string.digits]
VOCABULARY = [
    *MARKS,
    *string.punctuation,
    *LETTERS,
    *dict.fromkeys(word for word in WORDS if len(word) > 1),
    *(f"##{letter}" for letter in LETTERS),
    "##ing",
    "##ed",
]


TOKENIZER = WordPiece(VOCABULARY)


def make_selector(
    *,
    seed: int = 0,
    width: int = 32,
    layers: int = 2,
    max_tokens: int = 64,
    vocabulary: list[str] = VOCABULARY,
    **settings: Any,
) -> Selector:
    """Return a tiny network; weights large enough that scores differ."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=80,
        initializer_range=0.3,
        attn_implementation="eager",
        **settings,
    )
    encoder = BertModel(config, add_pooling_layer=False)
    model = Selector(SelectorConfig("tiny", None, max_tokens), encoder)
    torch.nn.init.normal_(model.first.weight, std=0.3)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):  # none may be forgotten in the export
            torch.nn.init.normal_(parameter, std=0.1)
    return model.eval()


def make_contextual(
    form: str, similarity: str = "static", *, attention: str = "scaled"
) -> AnySelector:
    """Return a tiny selector that reads this context, and whose scores depend on it."""
    plain = make_selector(max_tokens=72)
    if form == "ensemble":
        start: list[AnySelector] = [
            add_context(plain, ContextConfig(part, similarity)) for part in ("local", "global")
        ]
    else:
        start = [plain]
    model = read_context(start, form, similarity, attention=attention)
    torch.manual_seed(1)
    for parameter in model.get_new_parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return model.eval()


def make_classifier(form: str, *, architecture: str = "bert", width: int = 32) -> AnySelector:
    """Return a tiny encoder with its own head that reads this context, with random weights."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    torch.manual_seed(0)
    settings: dict[str, Any] = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 80,
        "initializer_range": 0.3,
        "num_labels": 1,
        "pad_token_id": 0,
    }
    config = AutoConfig.for_model(architecture, **settings)
    network = AutoModelForSequenceClassification.from_config(config, attn_implementation="eager")
    plain = Classifier(SelectorConfig("tiny", None, 72, recipe="classifier"), network)
    start: list[AnySelector] = [plain]
    if form == "ensemble":
        start = [read_context([plain], part, "static") for part in ("local", "global")]
    model = read_context(start, form, "static")
    torch.manual_seed(1)
    for parameter in model.get_new_parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return model.eval()


def write_encoder(folder: Path, *, width: int = 32, seed: int = 0) -> Path:
    """Write a pretrained encoder as `transformers` does: tiny, and with random weights."""
    from tokenizers.implementations import BertWordPieceTokenizer
    from transformers import BertTokenizer

    folder.mkdir()
    rows = {piece: row for row, piece in enumerate(VOCABULARY)}
    tokenizer = BertWordPieceTokenizer(rows, lowercase=True)
    BertTokenizer(tokenizer_object=tokenizer._tokenizer).save_pretrained(folder)
    make_selector(width=width, seed=seed).encoder.save_pretrained(folder)
    return folder
