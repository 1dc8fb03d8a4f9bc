"""Tiny pretrained models of every architecture, as `transformers` saves them: random weights."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers.trainers import BpeTrainer, UnigramTrainer, WordPieceTrainer

from tests.models.selectors import TEXT

CORPUS = [TEXT, TEXT.title(), "Café naïve, 3.5 km! 猫と犬 😀 한국어 Ελληνικά", *TEXT.split()]
MIXED = (
    "naïve Café don't e-mail 3.5 1,000 \U0001f600 \U0001f469\u200d\U0001f467 \U0001f1eb\U0001f1f7"
    " 猫 東京都 한국어 Ελληνικά Привет नमस्ते עברית \uff21 \ufb01 </"
)
"""Words with accents, marks and numbers, emoji, other scripts, and letters of compatibility."""
SIZE = 300
"""Rows of each embedding; tokenizers have fewer tokens."""
SIZES = {
    "vocab_size": SIZE,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "initializer_range": 0.2,
}
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def _make_wordpiece(*, lowercase: bool, special: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = WordPieceTrainer(
        vocab_size=SIZE - 20, special_tokens=special, show_progress=False, min_frequency=1
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def _make_bpe(special: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=SIZE - 10,
        special_tokens=special,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def _make_unigram(special: list[str], unknown: str) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = UnigramTrainer(
        vocab_size=150, special_tokens=special, unk_token=unknown, show_progress=False
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def _frame(tokenizer: Tokenizer, first: str, last: str, *, twice: bool) -> Tokenizer:
    between = f"{last}:0 {last}:0" if twice else f"{last}:0"
    second = 0 if twice else 1
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first}:0 $A:0 {last}:0",
        pair=f"{first}:0 $A:0 {between} $B:{second} {last}:{second}",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (first, last)],
    )
    return tokenizer


def _make_bert(*, lowercase: bool = True) -> Tokenizer:
    pieces = _make_wordpiece(lowercase=lowercase, special=BERT)
    return _frame(pieces, "[CLS]", "[SEP]", twice=False)


def _make_mpnet() -> Tokenizer:
    pieces = _make_wordpiece(lowercase=True, special=[*ROBERTA[:3], "[UNK]", "<mask>"])
    return _frame(pieces, "<s>", "</s>", twice=True)


def _make_roberta() -> Tokenizer:
    return _frame(_make_bpe(ROBERTA), "<s>", "</s>", twice=True)


def _make_modernbert() -> Tokenizer:
    return _frame(_make_bpe(BERT), "[CLS]", "[SEP]", twice=False)


def _make_xlm() -> Tokenizer:
    return _frame(_make_unigram(ROBERTA, "<unk>"), "<s>", "</s>", twice=True)


def _make_deberta() -> Tokenizer:
    return _frame(_make_unigram(BERT, "[UNK]"), "[CLS]", "[SEP]", twice=False)


OFFSET = {"max_position_embeddings": 98, "pad_token_id": 1, "type_vocab_size": 1}
ARCHITECTURES: dict[str, tuple[Callable[[], Tokenizer], dict[str, Any]]] = {
    "bert": (_make_bert, {"max_position_embeddings": 96}),
    "bert-cased": (lambda: _make_bert(lowercase=False), {"max_position_embeddings": 96}),
    "roberta": (_make_roberta, OFFSET),
    "xlm-roberta": (_make_xlm, OFFSET),
    "distilbert": (_make_bert, {"max_position_embeddings": 96}),
    "electra": (_make_bert, {"embedding_size": 32, "max_position_embeddings": 96}),
    "mpnet": (_make_mpnet, {"max_position_embeddings": 98, "pad_token_id": 1}),
    "deberta-v2": (
        _make_deberta,
        {
            "type_vocab_size": 0,
            "relative_attention": True,
            "position_buckets": 16,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_biased_input": False,
            "max_position_embeddings": 96,
        },
    ),
    "modernbert": (
        _make_modernbert,
        {
            "max_position_embeddings": 96,
            "local_attention": 8,
            "global_attn_every_n_layers": 2,
            "initializer_cutoff_factor": 3.0,
            "pad_token_id": 0,
            "cls_token_id": 2,
            "sep_token_id": 3,
            "bos_token_id": 2,
            "eos_token_id": 3,
        },
    ),
}
"""The tokenizer and the settings of each."""


def write_pretrained(folder: Path, architecture: str, kind: str = "AutoModel") -> Path:
    """Write config.json, weights and tokenizer of a tiny model; `kind` is a class of Auto…"""
    import transformers

    torch.manual_seed(0)
    make_tokenizer, settings = ARCHITECTURES[architecture]
    model_type = architecture.removesuffix("-cased")
    config = transformers.AutoConfig.for_model(model_type, **SIZES, **settings)
    if kind == "AutoModelForSequenceClassification":
        config.num_labels = 1
    model = getattr(transformers, kind).from_config(config, attn_implementation="eager")
    folder.mkdir()
    model.save_pretrained(folder)
    tokenizer = make_tokenizer()
    others = {"[CLS]": "<s>", "[SEP]": "</s>", "[UNK]": "<unk>", "[PAD]": "<pad>"}
    special = {
        f"{token[1:-1].lower()}_token": other if tokenizer.token_to_id(token) is None else token
        for token, other in others.items()
    }
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    fast.save_pretrained(folder)
    return folder


def make_texts(count: int) -> list[str]:
    """Return texts of words, numbers, marks, emoji and several scripts."""
    rng = random.Random(0)
    words = [*TEXT.split(), *TEXT.title().split(), *MIXED.split(" ")]
    marks = ["", "", "", ",", ".", "!", "?", "…", " — ", "\t", "\n", "\u00a0", "«", "(", "[SE"]
    return [
        " ".join(rng.choice(words) + rng.choice(marks) for _ in range(rng.randrange(12)))
        for _ in range(count)
    ]
