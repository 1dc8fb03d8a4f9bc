"""Hostile tokenizer.json files: refused before they cost the process its time or memory."""

import time
from base64 import b64encode
from typing import Any

import pytest

from rejoinder.errors import InputError
from rejoinder.models.encoders.loading import make_tokenizer
from rejoinder.text import tokenizer_check
from rejoinder.text.tokenizer import JsonTokenizer
from tests.security.tokenizers import MODEL, make_tokenizer_json

MAX_SECONDS = 10


def refuse(**parts: Any) -> str:
    """Return why a tokenizer with these parts is refused, at once."""
    start = time.process_time()
    with pytest.raises(InputError, match="tiny: cannot use its tokenizer: ") as caught:
        make_tokenizer(make_tokenizer_json(**parts), "tiny")
    assert time.process_time() - start < MAX_SECONDS
    assert "\n" not in str(caught.value)
    return str(caught.value)


def split(regex: str) -> dict[str, Any]:
    return {
        "type": "Split",
        "pattern": {"Regex": regex},
        "behavior": "Isolated",
        "invert": False,
    }


def replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def test_the_tokenizer_that_is_changed_below_is_a_good_one() -> None:
    tokenizer = make_tokenizer(make_tokenizer_json(), "tiny")

    assert tokenizer.to_ids("tea a zebra") == [4, 3, 2]
    assert tokenizer.frame == ((0,), (1,), (1,))


@pytest.mark.parametrize("regex", ["(a+)+$", "(a|a)*$", "(?:(?:a?){9,})+$", "x" * 3_000])
def test_patterns_that_backtrack_are_refused(regex: str) -> None:
    assert "may take exponential time" in refuse(pre_tokenizer=split(regex))
    assert "may take exponential time" in refuse(normalizer=replace({"Regex": regex}, "b"))
    nested = {"type": "Sequence", "pretokenizers": [{"type": "Whitespace"}, split(regex)]}
    assert "may take exponential time" in refuse(pre_tokenizer=nested)


@pytest.mark.parametrize(
    "normalizers",
    [
        [replace({"String": "a"}, "a" * 10)] * 8,
        [replace({"String": "a"}, "a" * 1_000)],
        [replace({"Regex": ""}, "aa")] * 10,
        [{"type": "ByteLevel"}] * 40,
    ],
)
def test_normalizers_that_make_texts_explode_are_refused(normalizers: list[Any]) -> None:
    reason = refuse(normalizer={"type": "Sequence", "normalizers": normalizers})

    assert "times as long" in reason


def test_normalizers_without_end_are_refused() -> None:
    many = [{"type": "Lowercase"}] * 1_000

    assert "more than 100" in refuse(normalizer={"type": "Sequence", "normalizers": many})
    assert "1,000 characters" in refuse(normalizer={"type": "Prepend", "prepend": "a" * 10**6})


def test_deep_sequences_are_refused() -> None:
    deep = '{"type": "Sequence", "normalizers": [' * 50_000 + "]}" * 50_000
    content = make_tokenizer_json().replace('"normalizer": null', f'"normalizer": {deep}')

    with pytest.raises(InputError, match="tiny: cannot use its tokenizer"):
        make_tokenizer(content, "tiny")


@pytest.mark.parametrize(
    "table",
    [b"", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f" + bytes(100), bytes(4), bytes(3), b"\4\0\0\0"],
)
def test_a_table_of_characters_that_claims_any_memory_is_refused(table: bytes) -> None:
    part = {"type": "Precompiled", "precompiled_charsmap": b64encode(table).decode()}

    assert "cannot use its tokenizer" in refuse(normalizer=part)


def test_a_table_with_a_huge_replacement_is_refused() -> None:
    table = (4).to_bytes(4, "little") + bytes(4) + b"a" * 10_000 + b"\0"
    part = {"type": "Precompiled", "precompiled_charsmap": b64encode(table).decode()}

    assert "10,000 times as long" in refuse(normalizer=part)


def test_words_without_end_are_refused() -> None:
    model = {
        **MODEL,
        "type": "WordPiece",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 10**9,
    }

    assert "more than 1,000 characters" in refuse(model=model)


def test_parts_of_no_length_are_refused() -> None:
    assert "no length" in refuse(pre_tokenizer={"type": "FixedLength", "length": 0})


def test_a_vocabulary_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_check, "MAX_FILE", 1_000)
    vocabulary = {**MODEL["vocab"], **{f"w{n}": n + 6 for n in range(1_000)}}

    assert "characters; the limit is 1,000" in refuse(model={**MODEL, "vocab": vocabulary})


@pytest.mark.parametrize(
    "model",
    [
        {**MODEL, "vocab": {**MODEL["vocab"], "a": 2**40}},
        {**MODEL, "vocab": {**MODEL["vocab"], "a": -1}},
        {"type": "Unigram", "unk_id": 9, "vocab": [["<s>", 0.0], ["a", -1.0]]},
        {"type": "BPE", "vocab": {"<s>": 0, "</s>": 1, "a": 2}, "merges": [["a", "b"]]},
    ],
)
def test_ids_and_merges_that_do_not_exist_are_refused(model: dict[str, Any]) -> None:
    assert "cannot use its tokenizer" in refuse(model=model)


@pytest.mark.parametrize(
    "parts",
    [
        {"model": {**MODEL, "vocab": {"<s>": 0, "</s>": 1, "a": 2}}},  # no unknown token
        {"pre_tokenizer": split("[ab]*[ab]*[ab]*[ab]*[ab]*[ab]*c")},
    ],
    ids=["unknown", "pattern"],
)
def test_a_text_that_cannot_be_read_is_an_error_of_ours(parts: dict[str, Any]) -> None:
    tokenizer = JsonTokenizer(make_tokenizer_json(**parts))
    start = time.process_time()

    with pytest.raises(InputError, match="the scorer's tokenizer cannot read this text"):
        tokenizer.to_ids("ab" * 200 + " c")

    assert time.process_time() - start < MAX_SECONDS
