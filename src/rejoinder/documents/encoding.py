"""Detects the character encoding of a file."""

import codecs
import re

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
    """Decode bytes: by their byte order mark, as UTF-8, as declared, or as detected.

    Raises:
        InputError: the bytes are not text.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding, errors="replace")
    if b"\0" not in raw:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            pass
    encoding = _normalise(declared) or _detect(raw)
    return raw.decode(encoding, errors="replace")


def _normalise(name: str | None) -> str | None:
    try:
        return codecs.lookup(name).name if name else None
    except LookupError:
        return None


def _detect(raw: bytes) -> str:
    import chardet

    encoding = _normalise(chardet.detect(raw[:MAX_SAMPLE])["encoding"])
    if encoding is None or (b"\0" in raw and not encoding.startswith("utf-")):
        raise InputError("not text")
    sample = raw[:MAX_SAMPLE].decode(encoding, errors="replace")
    if len(_NOT_TEXT.findall(sample)) > len(sample) / 20:
        raise InputError("not text")
    return encoding


_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]")
