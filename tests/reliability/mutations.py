"""Mutations of valid inputs, for fuzzing.

Changes of single bytes seldom get past the checksums of an archive or change the structure of a
page.  So there are also mutations of lines, tags and words, and of the parts of archives.
"""

import copy
import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from random import Random
from typing import Any
from xml.etree import ElementTree

SPECIAL: tuple[bytes, ...] = (
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"-1",
    b"1e999",
    b"NaN",
    b"null",
    b"{" * 99,
)
SPECIAL += (b"[" * 2000, b"<" * 99, b"<!--", b"&#x110000;", b'"', b"\n", b"\r", b"../", b"9" * 30)

NUMBERS = (
    b"0",
    b"-1",
    b"1",
    b"2",
    b"9",
    b"255",
    b"65536",
    b"2147483648",
    b"9" * 20,
    b"1e308",
    b".5",
)
TOKENS = tuple(
    re.compile(pattern)
    for pattern in (rb"[^\n]*\n|[^\n]+", rb"<[^<>]*>|[^<]+|<", rb"\w+|\s+|[^\w\s]+")
)
"""Lines, tags and words: each pattern covers all bytes."""
INDENTS = (b"  ", b"\t", b"> ", b"- ", b"   ", b"* ", b".RS\n", b"#", b":")
MAX_PART = 100_000
"""Bytes of an input or of a part of an archive, however often it is mutated."""

_NUMBER = re.compile(rb"\d+")
_TAG = re.compile(rb"<([\w:.-]+)")


def mutate(raw: bytes, seeds: tuple[bytes, ...], random: Random) -> bytes:
    """Change something inside an input: of an archive its parts, so that checksums are right."""
    if raw.startswith(b"PK\3\4"):
        return _mutate_archive(raw, seeds, random)
    if raw.startswith(b"\x1f\x8b"):
        try:
            inside = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):
            return mutate_bytes(raw, seeds, random)
        return gzip.compress(mutate_tokens(inside, seeds, random), 1, mtime=0)
    if raw.startswith(b"<") and random.random() < 0.7 and (changed := mutate_tree(raw, random)):
        return changed
    if raw.startswith(b"{") and random.random() < 0.7 and (changed := mutate_json(raw, random)):
        return changed
    change = random.choice((mutate_tokens, mutate_tokens, mutate_tokens, mutate_bytes))
    return change(raw, seeds, random)


def _mutate_archive(raw: bytes, seeds: tuple[bytes, ...], random: Random) -> bytes:
    parts = unpack(raw)
    if not parts:
        return mutate_bytes(raw, seeds, random)
    name = random.choice(list(parts))
    action = random.random()
    if action < 0.9:
        others = tuple(parts.values())
        parts[name] = mutate(parts[name], others, random)[:MAX_PART]
    elif action < 0.93:
        del parts[name]
    elif action < 0.96:
        parts[name] = parts[random.choice(list(parts))]
    elif other := unpack(random.choice(seeds)):
        parts.update(other)
    return pack(parts)


def unpack(raw: bytes) -> dict[str, bytes]:
    """Return the parts of an archive; none of a broken one."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # broken archives raise many kinds of errors
        return {}


def pack(parts: dict[str, bytes]) -> bytes:
    """Return an archive of parts."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def mutate_bytes(raw: bytes, _: tuple[bytes, ...], random: Random) -> bytes:
    """Replace some bytes."""
    start = random.randint(0, len(raw))
    end = min(len(raw), start + random.choice((0, 0, 1, 1, 2, 8, 40)))
    part = random.choice((b"", random.randbytes(1), random.randbytes(4), random.choice(SPECIAL)))
    return raw[:start] + part + raw[end:]


def mutate_tokens(raw: bytes, seeds: tuple[bytes, ...], random: Random) -> bytes:
    """Drop, repeat, move, nest or replace lines, tags or words."""
    pattern = random.choice(TOKENS)
    tokens = pattern.findall(raw) or [b""]
    start = random.randrange(len(tokens))
    end = min(len(tokens), start + random.choice((1, 1, 1, 2, 3, 8, 20)))
    part = tokens[start:end]
    action = random.randrange(8)
    if action == 0:
        part = []
    elif action == 1:
        part = part * min(random.choice((2, 2, 3, 10, 100)), 1 + MAX_PART // (1 + len(raw)))
    elif action == 2:
        random.shuffle(part)
    elif action == 3:
        part += random.choices(pattern.findall(random.choice(seeds)) or [b""], k=3)
    elif action == 4:
        part = _nest(part, random)
    elif action == 5:
        part = [_NUMBER.sub(lambda _: random.choice(NUMBERS), token) for token in part]
    elif action == 6:
        part.append(random.choice(SPECIAL))
    else:
        part = [random.choice(tokens), *part, random.choice(tokens)]
    return b"".join(tokens[:start] + part + tokens[end:])[:MAX_PART]


def mutate_tree(raw: bytes, random: Random) -> bytes:
    """Drop, repeat, move or nest elements of XML, or change a value; "" for broken XML."""
    try:
        root = ElementTree.fromstring(raw)
    except (ElementTree.ParseError, ValueError, LookupError):
        return b""
    elements = list(root.iter())
    parent, other = random.choice(elements), random.choice(elements)
    action = random.randrange(6)
    if action == 0 and len(parent):
        parent.remove(random.choice(parent))
    elif action == 1 and len(parent):
        parent.extend([random.choice(parent)] * random.choice((1, 2, 10)))
    elif action == 2 and len(parent):
        parent[:] = sorted(parent, key=lambda _: random.random())
    elif action == 3:
        for _ in range(random.choice((1, 1, 3, 100))):
            parent = ElementTree.SubElement(parent, other.tag, other.attrib)
        parent.text = other.text
    elif action == 4 and other.attrib:
        name = random.choice(list(other.attrib))
        values = [
            *(number.decode() for number in NUMBERS),
            *other.attrib.values(),
            *parent.attrib.values(),
            "",
        ]
        other.set(name, random.choice(values))
    else:
        other.tag = parent.tag
    try:
        return ElementTree.tostring(root)[:MAX_PART]
    except (TypeError, ValueError, RecursionError):
        return b""


def mutate_json(raw: bytes, random: Random) -> bytes:
    """Drop, repeat or replace a value of JSON; "" for broken JSON."""
    try:
        root = json.loads(raw)
    except (ValueError, RecursionError):
        return b""
    holders = [holder for holder in _find_holders(root) if holder]
    if not holders:
        return b""
    holder, other = random.choice(holders), random.choice(holders)
    key = random.choice(list(holder)) if isinstance(holder, dict) else random.randrange(len(holder))
    action = random.randrange(3)
    if action == 0:
        del holder[key]
    elif action == 1:
        holder[key] = random.choice((None, -1, 1e308, "", "x", [], {}, True, ["\ud800", 5]))
    else:
        holder[key] = copy.deepcopy(random.choice((other, holder[key], [holder[key]])))
    return json.dumps(root).encode()[:MAX_PART]


def _find_holders(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _find_holders(inner)


def _nest(tokens: list[bytes], random: Random) -> list[bytes]:
    depth = random.choice((1, 1, 2, 5, 30, 200))
    if tag := _TAG.match(tokens[0]):
        return [tokens[0] * depth, *tokens[1:], b"</%b>" % tag[1] * depth]
    indent = random.choice(INDENTS)
    return [indent * min(depth, 40) + token for token in tokens]


def amplify(raw: bytes, size: int, random: Random) -> bytes:
    """Repeat or nest a part of an input to this many bytes: readers must take linear time."""
    if parts := unpack(raw) if raw.startswith(b"PK\3\4") else {}:
        name = random.choice(list(parts))
        return pack({**parts, name: amplify(parts[name], size, random)})
    if (
        raw.startswith(b"<")
        and random.random() < 0.8
        and (larger := _amplify_tree(raw, size, random))
    ):
        return larger
    tokens = random.choice(TOKENS).findall(raw) or [b" "]
    start = random.randrange(len(tokens))
    end = start + random.choice((1, 1, 2, 3, 5, 9))
    part = b"".join(tokens[start:end])
    return b"".join((*tokens[:start], part * (size // len(part)), *tokens[end:]))


def _amplify_tree(raw: bytes, size: int, random: Random) -> bytes:
    try:
        root = ElementTree.fromstring(raw)
    except ElementTree.ParseError:
        return b""
    parents = [element for element in root.iter() if len(element)]
    if not parents:
        return b""
    parent = random.choice(parents)
    child = parent[random.randrange(len(parent))]
    if random.random() < 0.7:
        parent.extend([child] * (size // len(ElementTree.tostring(child))))
        return ElementTree.tostring(root)
    parent.text = "NEST"
    tag = re.match(rb"<([\w:]+)", ElementTree.tostring(child))
    assert tag
    start, end = b"<%b>" % tag[1], b"</%b>" % tag[1]
    depth = size // len(start + end)
    return ElementTree.tostring(root).replace(b"NEST", start * depth + end * depth, 1)
