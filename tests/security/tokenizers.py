"""Small tokenizer.json files, of which tests make hostile ones."""

import json
from pathlib import Path
from typing import Any

PAIR = [
    {"SpecialToken": {"id": "<s>", "type_id": 0}},
    {"Sequence": {"id": "A", "type_id": 0}},
    {"SpecialToken": {"id": "</s>", "type_id": 0}},
    {"Sequence": {"id": "B", "type_id": 1}},
    {"SpecialToken": {"id": "</s>", "type_id": 0}},
]
FRAME = {
    "type": "TemplateProcessing",
    "single": PAIR[:3],
    "pair": PAIR,
    "special_tokens": {
        "<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
        "</s>": {"id": "</s>", "ids": [1], "tokens": ["</s>"]},
    },
}
WORDS = ["<s>", "</s>", "<unk>", "a", "tea", "ice"]
MODEL: dict[str, Any] = {
    "type": "WordLevel",
    "vocab": {word: place for place, word in enumerate(WORDS)},
    "unk_token": "<unk>",
}


def make_tokenizer_json(**parts: Any) -> str:
    """Return a tokenizer.json of a few words, with other parts where they are given."""
    whole: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": FRAME,
        "decoder": None,
        "model": MODEL,
    }
    return json.dumps(whole | parts)


def write_tokenizer(folder: Path, content: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = content or make_tokenizer_json()
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
