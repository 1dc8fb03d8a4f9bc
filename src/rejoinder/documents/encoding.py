"""Detects the character encoding of a file."""

import codecs
import re
from contextlib import suppress

from rejoinder.errors import InputError

MAX_SAMPLE = 200_000
"""Bytes that the detector reads; more did not change its result."""

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins with UTF-16's mark, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(raw: bytes, *, declared: str | None = None) -> str:
    """Decode bytes: by their byte order mark, as UTF-8, as declared, or as detected."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding, errors="replace")
    if b"\0" not in raw:
        with suppress(UnicodeDecodeError):
            return raw.decode("utf-8")
    return raw.decode(_normalise(declared) or _detect(raw), errors="replace")


def _normalise(name: str | None) -> str | None:
    try:
        return codecs.lookup(name).name if name else None
    except LookupError:
        return None


def _detect(raw: bytes) -> str:
    import chardet

    sample = raw[:MAX_SAMPLE]
    encoding = _normalise(chardet.detect(sample)["encoding"])
    if encoding and (b"\0" not in raw or encoding.startswith("utf-")):
        text = sample.decode(encoding, errors="replace")
        if len(_NOT_TEXT.findall(text)) <= len(text) / 20:
            return encoding
    raise InputError("not text")


_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]")
