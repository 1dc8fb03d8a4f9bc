"""Documents as resources: their URIs, lists of them, and parts of their text.

A document is `rejoinder://documents/NAME`, its name percent-encoded: unlike its number, a name is
the same in a rebuilt index.  `?from=N` begins at a character.
"""

import re
from urllib.parse import quote, unquote

import mcp_types as types

from rejoinder.engine.engine import Engine
from rejoinder.errors import InputError
from rejoinder.mcp.messages import MAX_READ, MAX_TITLE, ReadResult

PREFIX = "rejoinder://documents/"
TEMPLATE = PREFIX + "{document}{?from}"
PAGE_SIZE = 100
"""Documents on one page of a list."""
MAX_RESOURCE = 100_000
"""Characters of a document that one request returns as a resource."""
MIN_PART = 0.9
"""Share of a part that is kept at least, where it is cut between two words."""


def make_uri(document: str, start: int = 0) -> str:
    """Return the URI of a document, or of its text from a character on."""
    return PREFIX + quote(document, safe="") + (f"?from={start}" if start else "")


def parse_uri(uri: str) -> tuple[str, int]:
    """Return the document and the first character that a URI names.

    Raises:
        InputError: it is not the URI of a document.
    """
    pattern = rf"{re.escape(PREFIX)}([^/?#]+)(?:\?from=([0-9]{{1,15}}))?"
    match = re.fullmatch(pattern, uri)
    if match is None:
        raise InputError(f"{uri[:200]!r} is not the URI of a document: {TEMPLATE}")
    return unquote(match[1]), int(match[2] or 0)


def list_resources(engine: Engine, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of the documents, in the order of their addition.

    Raises:
        InputError: the cursor is none of an earlier page.
    """
    if cursor is not None and not re.fullmatch("[0-9]{1,18}", cursor):
        raise InputError(f"unknown cursor {cursor[:40]!r}; take it from the page before")
    with engine.leased() as current:
        store = current.index.store
        rows, _ = store.list_documents(
            searchable=store.generation, after=int(cursor or 0), limit=PAGE_SIZE + 1
        )
    page = rows[:PAGE_SIZE]
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=make_uri(row.name),
                name=row.name,
                title=row.title[:MAX_TITLE] or None,
                mime_type="text/plain",
            )
            for row in page
        ],
        next_cursor=str(page[-1].id) if len(rows) > PAGE_SIZE else None,
    )


def read_resource(engine: Engine, uri: str) -> types.ReadResourceResult:
    """Return the text of a document; of a long one a part, and a note with the URI of the next.

    Raises:
        InputError: there is no such document.
    """
    name, start = parse_uri(uri)
    part = read_part(engine, name, start, None, limit=MAX_RESOURCE)
    contents = [types.TextResourceContents(uri=uri, mime_type="text/plain", text=part.text)]
    if part.next is not None:
        following = make_uri(name, part.next)
        note = f"The document is longer: read {following}"
        contents.append(
            types.TextResourceContents(uri=following, mime_type="text/plain", text=note)
        )
    return types.ReadResourceResult(contents=[*contents])


def read_part(
    engine: Engine, name: str, start: int, end: int | None, *, limit: int = MAX_READ
) -> ReadResult:
    """Return `text[start:end]` of a document, at most so many characters of it.

    A part that is shorter than what was asked for ends between two words.

    Raises:
        InputError: there is no such document, or `end` is before `start`.
    """
    if end is not None and end < start:
        raise InputError(f"to ({end}) is before from ({start})")
    with engine.leased() as current:
        document = current.index.get_document(name)
        if document is None:
            known = "take its name from a result, or from the list of resources"
            raise InputError(f"the index has no document {name[:200]!r}; {known}")
        last = start + limit if end is None else min(end, start + limit)
        text = current.index.get_text(document, start, last + 1)
    has_more = len(text) > last - start
    text = text[: last - start]
    if has_more and last != end:
        text = _cut_between_words(text)
    stop = start + len(text)
    return ReadResult(
        document=name,
        title=document.title[:MAX_TITLE],
        uri=make_uri(name),
        start=start,
        end=stop,
        text=text,
        next=stop if has_more else None,
    )


def _cut_between_words(text: str) -> str:
    match = re.search(r"\s\S*$", text)
    at = match.start() + 1 if match else len(text)
    return text[:at] if at >= MIN_PART * len(text) else text
