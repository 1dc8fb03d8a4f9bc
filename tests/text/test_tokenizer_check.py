"""What a tokenizer.json may contain; hostile ones are in tests/security/test_tokenizers.py."""

from base64 import b64encode
from typing import Any

import pytest
from tests.security.tokenizers import make_tokenizer_json

from rejoinder.errors import InputError
from rejoinder.text.tokenizer_check import check_tokenizer, repeats_repeats

GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.mark.parametrize(
    "pattern", [GPT_2, LLAMA, " {2,}", r"\p{Han}", r"[[a-z]&&[^b]]+", "]", ")"]
)
def test_patterns_of_known_tokenizers_pass(pattern: str) -> None:
    assert not repeats_repeats(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a+)+", "(a|b)*", "((a*)b?)*", "(?:x{2,})+", r"([\w-]+)*", "(a+){5}", r"(\(|a)+"]
)
def test_repeated_repetitions_are_found(pattern: str) -> None:
    assert repeats_repeats(pattern)


def make_table(longest: str) -> str:
    """Return a table of characters as SentencePiece writes it, with an empty trie."""
    replacements = f"a\0{longest}\0".encode()
    return b64encode((4).to_bytes(4, "little") + bytes(4) + replacements).decode()


@pytest.mark.parametrize(
    "normalizers",
    [
        [],
        [{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}],
        [{"type": "Replace", "pattern": {"String": "``"}, "content": '"'}] * 20,
        [{"type": "Precompiled", "precompiled_charsmap": make_table("ﷺ" * 11)}, {"type": "NFKD"}],
        [{"type": "ByteLevel"}],
        [{"type": "Prepend", "prepend": "▁"}],
    ],
)
def test_normalizers_of_known_tokenizers_pass(normalizers: list[dict[str, Any]]) -> None:
    check_tokenizer(
        make_tokenizer_json(normalizer={"type": "Sequence", "normalizers": normalizers})
    )


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"model": 1}', '{"model": {}, "normalizer": 1}']
)
def test_what_is_no_tokenizer_is_refused(content: str) -> None:
    with pytest.raises(InputError, match=r"not a tokenizer\.json"):
        check_tokenizer(content)
