"""Detects the character encoding of a file, and decodes it whole or in pieces."""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import IO

from rejoinder.errors import InputError

MAX_SAMPLE = 200_000
"""Bytes that the detector reads; more did not change its result."""
PIECE = 1 << 18
"""Bytes that are decoded at once."""

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
    encoding = _normalise(declared) or _detect(raw[:MAX_SAMPLE], has_zero=b"\0" in raw)
    return raw.decode(encoding, errors="replace")


def decode_stream(file: IO[bytes]) -> Iterator[str]:
    """Decode a seekable file from its start, piece by piece, as `decode` would."""
    decoder = codecs.getincrementaldecoder(_detect_in_stream(file))(errors="replace")
    file.seek(0)
    while raw := file.read(PIECE):
        yield decoder.decode(raw)
    yield decoder.decode(b"", True)


def _detect_in_stream(file: IO[bytes]) -> str:
    file.seek(0)
    sample = raw = file.read(MAX_SAMPLE)
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return encoding
    decoder = codecs.getincrementaldecoder("utf-8")()
    is_utf8, has_zero = True, False
    while True:
        has_zero = has_zero or b"\0" in raw
        try:
            if is_utf8:
                decoder.decode(raw, not raw)
        except UnicodeDecodeError:
            is_utf8 = False
        if not raw:
            break
        raw = file.read(PIECE)
    return "utf-8" if is_utf8 and not has_zero else _detect(sample, has_zero=has_zero)


def _normalise(name: str | None) -> str | None:
    try:
        return codecs.lookup(name).name if name else None
    except LookupError:
        return None


def _detect(sample: bytes, *, has_zero: bool) -> str:
    import chardet

    encoding = _normalise(chardet.detect(sample)["encoding"])
    if encoding and (not has_zero or encoding.startswith("utf-")):
        text = sample.decode(encoding, errors="replace")
        if len(_NOT_TEXT.findall(text)) <= len(text) / 20:
            return encoding
    raise InputError("not text")


_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]")
