"""Reads e-mail: a message (.eml), or a mailbox (.mbox) with one document per message."""

import email
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import collapse_rfc2231_value
from typing import IO, Any

from rejoinder.documents.blocks import Block, ExtractedDocument, fold, sanitize
from rejoinder.documents.encoding import decode
from rejoinder.errors import InputError

_BROKEN = (MessageError, ValueError, LookupError, TypeError, AttributeError)
"""What the standard library raises on broken headers, parameters and encodings."""

HEADERS = ("from", "to", "date")
"""Headers that become metadata."""


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield the message of a file, or all messages of a mailbox."""
    is_mailbox = file.read(5) == b"From "
    file.seek(0)
    if is_mailbox:
        for number, raw in enumerate(_split_mailbox(file), start=1):
            with suppress(InputError):  # one broken message costs only itself
                yield _read_message(raw, str(number))
    else:
        yield _read_message(file.read(), "")


def _split_mailbox(file: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the messages; a line "From …" after an empty one begins each."""
    lines: list[bytes] = []
    after_blank = True
    for line in file:
        if after_blank and line.startswith(b"From "):
            if lines:
                yield b"".join(lines)
            lines = []
        else:
            lines.append(line[1:] if _QUOTED_FROM.match(line) else line)
        after_blank = not line.strip()
    if lines:
        yield b"".join(lines)


def _read_message(raw: bytes, row: str) -> ExtractedDocument:
    try:
        message = email.message_from_bytes(raw)
        parts = list(_find_texts(message))
    except (RecursionError, *_BROKEN) as error:
        raise InputError("a message that cannot be read") from error
    if not message.keys() and not row:
        raise InputError("not an e-mail message (no headers)")
    metadata = {name: text for name in HEADERS if (text := _read_header(message, name))}
    return ExtractedDocument(_read_header(message, "subject"), _read_parts(parts), row, metadata)


def _read_header(message: Message, name: str) -> str:
    """Return a header with its encoded words decoded, where they can be."""
    value = str(message.get(name, ""))
    with suppress(*_BROKEN):
        value = str(make_header(decode_header(value)))
    return fold(sanitize(value))


# Parts


def _find_texts(message: Message) -> Iterator[Message]:
    """Yield the parts that are the text of a message; attachments are not."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        kind = part.get_content_type()
        if _is_attachment(part):
            continue
        payload: Any = part.get_payload() if part.is_multipart() else None
        if isinstance(payload, list) and kind == "multipart/alternative":
            waiting += sorted(payload, key=_prefer_plain)[-1:]
        elif isinstance(payload, list) and kind != "message/rfc822":
            waiting += reversed(payload)
        elif kind in {"text/plain", "text/html"}:
            yield part


def _is_attachment(part: Message) -> bool:
    disposition = str(part.get("content-disposition", "")).strip().lower()
    has_name = _read_parameter(part, "filename", "content-disposition")
    return disposition.startswith("attachment") or bool(has_name)


def _prefer_plain(part: Message) -> int:
    """Return the rank of an alternative: parts that hold others are HTML with its pictures."""
    kind = part.get_content_type()
    return 3 if kind == "text/plain" else 2 if kind == "text/html" else int(part.is_multipart())


def _read_parts(parts: Iterable[Message]) -> Iterator[Block]:
    for part in parts:
        raw = part.get_payload(decode=True)
        raw = raw if isinstance(raw, bytes) else b""
        blocks = _read_html(raw) if part.get_content_subtype() == "html" else _read_plain(part, raw)
        for block in blocks:
            text = block.text if block.kind == "code" else fold(block.text)
            yield Block(block.kind, text, block.path)


def _read_html(raw: bytes) -> Iterator[Block]:
    from rejoinder.documents.formats import html

    with suppress(InputError):
        for document in html.read(io.BytesIO(raw)):
            yield from document.blocks


def _read_plain(part: Message, raw: bytes) -> Iterator[Block]:
    from rejoinder.documents.formats.text import read_text

    lines = _decode_text(raw, _read_parameter(part, "charset")).splitlines()
    if _read_parameter(part, "format") == "flowed":
        lines = _join_flowed(lines, deletes=_read_parameter(part, "delsp") == "yes")
    return read_text("\n".join(_strip_quotes(lines)))


def _read_parameter(part: Message, name: str, header: str = "content-type") -> str:
    with suppress(*_BROKEN):
        return collapse_rfc2231_value(part.get_param(name, "", header)).lower()
    return ""


def _decode_text(raw: bytes, charset: str) -> str:
    with suppress(InputError, LookupError, ValueError):
        if charset.startswith(_SEVEN_BITS):  # these look like ASCII
            return raw.decode(charset)
        return decode(raw, declared=charset)
    return raw.decode("utf-8", errors="replace")


# Lines


def _join_flowed(lines: Iterable[str], *, deletes: bool) -> list[str]:
    """Return the lines of format=flowed text (RFC 3676): a blank at the end continues one."""
    joined: list[list[str]] = []
    continues = False
    for line in lines:
        line = line.removeprefix(" ") if not line.startswith(">") else line
        if continues and not line.startswith(">") and line != "-- ":
            joined[-1].append(line)
        else:
            joined.append([line])
        continues = line.endswith(" ") and line != "-- " and not line.startswith(">")
        if continues and deletes:
            joined[-1][-1] = line[:-1]
    return ["".join(parts) for parts in joined]


def _strip_quotes(lines: Iterable[str]) -> list[str]:
    """Return the lines without what they quote, who wrote it, and the signature."""
    kept: list[str] = []
    for line in lines:
        if line.rstrip("\r") in {"-- ", "--"} or _FORWARDED.match(line):
            break
        if not line.startswith(">"):
            kept.append(line)
            continue
        while kept and not kept[-1].strip():
            kept.pop()
        del kept[len(kept) - _count_attribution(kept) :]
        kept.append("")
    return kept


def _count_attribution(lines: list[str]) -> int:
    """Return how many of the last lines say who wrote what is quoted after them."""
    if not _WROTE.search(" ".join(lines[-2:])):
        return 0
    return 2 if _WROTE_BEGINS.match("".join(lines[-2:-1])) else 1


_QUOTED_FROM = re.compile(rb">+From ")
_SEVEN_BITS = ("iso-2022", "hz", "utf-7")
_FORWARDED = re.compile(r"-{2,}\s*(?:Original Message|Forwarded message)\b", re.IGNORECASE)
_WROTE = re.compile(r"\b(?:wrote|writes|schrieb|a écrit|escribió|ha scritto)\b[^:]{0,80}:\s*$")
_WROTE_BEGINS = re.compile(r"(?:On|Am|Le|El|Il|At) |\d{4}-")
