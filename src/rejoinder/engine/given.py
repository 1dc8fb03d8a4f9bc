"""Checks of texts that a caller gives instead of documents of an index."""

import re
from collections.abc import Sequence

from rejoinder.errors import InputError

MAX_CHARACTERS = 20_000_000
"""Of all texts of a call together."""
MAX_SENTENCES = 300_000
"""Of all texts of a call together: each takes 6 kB while it is rated."""
HTML_PROBLEM = "is HTML; give its text, or add the file to an index"
# A comment ends at its first "-->": were there several ways to divide comments, their number
# would be exponential.
_HTML = re.compile(
    r"[\s\ufeff]*(?:<\?xml[^>]{0,200}>\s*|<!--(?:(?!-->).){0,500}-->\s*)*"
    r"<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)


def check_texts(texts: Sequence[str], noun: str) -> None:
    """Refuse texts that are HTML pages, and more characters than a call can read in seconds.

    Args:
        noun: what a text is called in errors.
    """
    for place, text in enumerate(texts):
        if is_html(text):
            raise InputError(f"{noun} {place} {HTML_PROBLEM}")
    check_size(texts, noun)


def is_html(text: str) -> bool:
    """Return whether a text is an HTML page.

    >>> is_html("<!DOCTYPE html><p>Ada."), is_html("<p>Ada.</p>")
    (True, False)
    """
    return _HTML.match(text, 0, 2000) is not None


def check_size(texts: Sequence[str], noun: str) -> None:
    """Refuse more characters than a call can read in seconds."""
    total = sum(map(len, texts))
    if total > MAX_CHARACTERS:
        raise InputError(
            f"the {noun}s have {total:,} characters; the limit is {MAX_CHARACTERS:,}: add them to"
            " an index instead"
        )


def check_sentences(count: int, noun: str) -> None:
    """Refuse more sentences than a call can rate in seconds, and in 2 GB."""
    if count > MAX_SENTENCES:
        raise InputError(
            f"the {noun}s have {count:,} sentences; the limit is {MAX_SENTENCES:,}: add them to an"
            " index instead"
        )
