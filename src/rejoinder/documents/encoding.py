"""Finds out in which encoding a file's bytes are text."""

import codecs
import re

from rejoinder.errors import InputError

MAX_SAMPLE = 200_000
"""How many bytes the detector looks at; more did not change its mind."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's, so it is looked for first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(raw: bytes, *, declared: str | None = None) -> str:
    """Return bytes as text: by their mark, as UTF-8, as declared, else by what they look like.

    Raises:
        InputError: the bytes are not text.
    """
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return raw.decode(encoding, errors="replace")
    if b"\0" not in raw:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            pass
    encoding = _known(declared) or _detect(raw)
    return raw.decode(encoding, errors="replace")


def _known(name: str | None) -> str | None:
    try:
        return codecs.lookup(name).name if name else None
    except LookupError:
        return None


def _detect(raw: bytes) -> str:
    import chardet

    found = _known(chardet.detect(raw[:MAX_SAMPLE])["encoding"])
    if found is None or (b"\0" in raw and not found.startswith("utf-")):
        raise InputError("not text")
    sample = raw[:MAX_SAMPLE].decode(found, errors="replace")
    if len(_NOT_TEXT.findall(sample)) > len(sample) / 20:
        raise InputError("not text")
    return found


_NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]")
