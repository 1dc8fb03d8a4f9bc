"""Checks a tokenizer.json before the library `tokenizers` reads it.

The library trusts its files: some end the process, for they ask for any amount of memory, and
some never end.  What is checked here is what the known tokenizers stay far below.
"""

import binascii
import json
from base64 import b64decode
from collections.abc import Iterator
from math import prod
from typing import Any

from rejoinder.errors import InputError

MAX_FILE = 200_000_000
"""Characters of a tokenizer.json; the largest known have 40 million."""
MAX_GROWTH = 200.0
"""How much longer a tokenizer may make a text; that of T5 has a character that becomes 33 bytes."""
MAX_INSERTED = 1_000
"""Characters that a normalizer puts before a text."""
MAX_WORD = 1_000
"""Characters of a word that WordPiece splits, in a time that grows with the square."""
MAX_PATTERN = 2_000
MAX_PARTS = 100
"""Normalizers and pre-tokenizers."""

Part = dict[str, Any]


def check_tokenizer(content: str) -> None:
    """Refuse a tokenizer that takes any amount of time or memory for a text.

    Raises:
        InputError: it does, or is no tokenizer.json.
    """
    if len(content) > MAX_FILE:
        raise InputError(f"it has {len(content):,} characters; the limit is {MAX_FILE:,}")
    try:
        settings = json.loads(content)
        _check_model(settings["model"])
        normalizers = list(_list_parts(settings.get("normalizer")))
        others = list(_list_parts(settings.get("pre_tokenizer")))
        growth = prod(map(_get_growth, normalizers + others))
        for part in normalizers + others:
            _check_part(part)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InputError(f"not a tokenizer.json: {error}") from error
    if len(normalizers) + len(others) > MAX_PARTS:
        raise InputError(f"it has more than {MAX_PARTS} normalizers and pre-tokenizers")
    if growth > MAX_GROWTH:
        raise InputError(f"it makes a text up to {growth:,.0f} times as long")


def repeats_repeats(pattern: str) -> bool:
    r"""Return whether a regular expression repeats a group that repeats or has alternatives.

    Such a group can match a text in exponentially many ways, which a search tries one by one.

    >>> repeats_repeats(r"(a+)+$"), repeats_repeats(r"(?:a|a)*"), repeats_repeats(r" ?[^()+]+|\s+")
    (True, True, False)
    """
    groups = [False]  # for each open group, whether it repeats or has alternatives
    ended = False  # whether the last item was such a group
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "(":
            groups.append(False)
        elif letter == ")" and len(groups) > 1:
            ended = groups.pop()
            groups[-1] |= ended
            at += 1
            continue
        elif letter in "*+{" and not (letter == "{" and not _is_repeat(pattern, at)):
            if ended:
                return True
            groups[-1] = True
        elif letter == "|":
            groups[-1] = True
        ended = False
        at = _skip(pattern, at)
    return False


def _is_repeat(pattern: str, at: int) -> bool:
    """Return whether a brace begins a number of repetitions, not the name of a property."""
    return pattern[at + 1 : at + 2].isdigit() or pattern[at + 1 : at + 2] == ","


def _skip(pattern: str, at: int) -> int:
    """Return the place after a letter, an escape, or a class of letters."""
    if pattern[at] == "\\":
        return at + 2
    if pattern[at] != "[":
        return at + 1
    depth, at = 1, at + (2 if pattern[at + 1 : at + 2] == "]" else 1)
    while at < len(pattern) and depth:
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] in "[]":
            depth += 1 if pattern[at] == "[" else -1
        at += 1
    return at


def _list_parts(part: Part | None) -> Iterator[Part]:
    """Yield a normalizer or pre-tokenizer, or those of a sequence."""
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if one is not None:
            yield one
            waiting += [*one.get("normalizers", ()), *one.get("pretokenizers", ())]


def _check_part(part: Part) -> None:
    kind, pattern = part.get("type"), part.get("pattern")
    regex = pattern.get("Regex", "") if isinstance(pattern, dict) else ""
    if len(regex) > MAX_PATTERN or repeats_repeats(regex):
        raise InputError(f"its pattern {regex!r:.80} may take exponential time")
    if kind == "Prepend" and len(part["prepend"]) > MAX_INSERTED:
        raise InputError(f"it puts more than {MAX_INSERTED:,} characters before each text")
    if kind == "FixedLength" and not part["length"] > 0:
        raise InputError("it splits texts into parts of no length")


def _get_growth(part: Part) -> float:
    """Return how much longer a normalizer or pre-tokenizer can make a text."""
    if part.get("type") == "ByteLevel":
        return 2.0  # each byte beyond ASCII becomes a letter of two
    if part.get("type") == "Replace":
        replaced = part["pattern"].get("String", "")
        inserted = len(part["content"])
        # A regular expression may match nothing, between any two characters.
        return max(1.0, inserted / len(replaced)) if replaced else 1.0 + inserted
    if part.get("type") == "Precompiled":
        return _get_precompiled_growth(part["precompiled_charsmap"])
    return 1.0


def _get_precompiled_growth(encoded: str) -> float:
    """Return the length of the longest replacement of SentencePiece's table of characters."""
    try:
        table = b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise InputError("its table of characters is corrupt") from error
    size = int.from_bytes(table[:4], "little")  # of the trie, before the replacements
    if not encoded:
        return 1.0
    if size % 4 or not 4 <= size <= len(table) - 4:
        raise InputError("its table of characters is corrupt")
    return float(max(1, *map(len, table[4 + size :].split(b"\0"))))


def _check_model(model: Part) -> None:
    if model.get("max_input_chars_per_word", 0) > MAX_WORD:
        raise InputError(f"it splits words of more than {MAX_WORD:,} characters")
