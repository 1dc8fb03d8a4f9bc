"""A tokenizer.json that its library refuses only in use, or that makes it panic."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

from rejoinder.errors import InputError
from rejoinder.text.tokenizer import JsonTokenizer

SEEDS = Path(__file__).parents[1] / "reliability" / "seeds" / "import"


@pytest.fixture
def settings() -> Any:
    path = SEEDS / "cross-encoder-bpe" / "tokenizer.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_text_has_ids(settings: Any) -> None:
    tokenizer = JsonTokenizer(json.dumps(settings))

    assert max(tokenizer.to_ids("a cat")) < len(tokenizer)


def test_a_panic_of_the_library_is_a_refusal(settings: Any) -> None:
    settings["post_processor"]["special_tokens"].clear()

    with pytest.raises(InputError, match="cannot read a text: no entry found"):
        JsonTokenizer(json.dumps(settings))


def test_a_text_that_cannot_be_read_is_refused(settings: Any) -> None:
    del settings["model"]["merges"]
    settings["model"] |= {"type": "WordPiece", "unk_token": "[UNK]"}
    settings["model"] |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    tokenizer = JsonTokenizer(json.dumps(settings))

    with pytest.raises(InputError, match=r"cannot read this text: .*UNK"):
        tokenizer.to_ids("a cat")
