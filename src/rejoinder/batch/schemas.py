"""The columns of input and output tables.

Questions have the fields of the JSON lines format (datasets/readers/jsonl.py); documents those
of the rows that `index add` reads.  Every text type and list type of Arrow is accepted.
"""

from typing import Any

import pyarrow as pa

from rejoinder.errors import InputError

_CANDIDATE = {
    "id": pa.string(),
    "text": pa.string(),
    "document": pa.string(),
    "position": pa.int64(),
    "score": pa.float64(),
    "stage": pa.int32(),
}
RANKED = pa.schema(
    [
        ("id", pa.string()),
        ("question", pa.string(), False),
        ("answers", pa.list_(pa.struct(_CANDIDATE)), False),
        ("confidence", pa.float64()),
        ("abstains", pa.bool_(), False),
    ]
)
"""One row per question: its candidates, best first, and the confidence in the first."""

_SENTENCE = {
    "text": pa.string(),
    "start": pa.int64(),
    "end": pa.int64(),
    "line": pa.int64(),
    "may_answer": pa.bool_(),
    "tokens": pa.binary(),
}
_BLOCK = {
    "kind": pa.string(),
    "text": pa.string(),
    "path": pa.list_(pa.string()),
    "gap": pa.string(),
    "start": pa.int64(),
    "sentences": pa.list_(pa.struct(_SENTENCE)),
}
ENCODED = pa.schema(
    [
        ("name", pa.string(), False),
        ("title", pa.string(), False),
        ("blocks", pa.list_(pa.struct(_BLOCK)), False),
    ]
)
"""One row per document: its blocks, and their sentences with offsets and tokens."""

Columns = dict[str, tuple[Any, str]]
"""For each column the accepted types (`_fits`) and a description; `?` marks optional ones."""

_CANDIDATE_TYPES = {"text": str, "id?": str, "document?": str, "position?": int}
_DOCUMENT_TYPES = {"id": str, "title?": str, "sentences?": [str]}
QUESTIONS: Columns = {
    "question": (str, "text"),
    "candidates": (
        ([str], [_CANDIDATE_TYPES]),
        "a list of texts, or of structs with a text, and optionally id, document and position",
    ),
    "id?": (str, "text"),
    "documents?": ([_DOCUMENT_TYPES], "a list of structs with an id, title and sentences"),
}
DOCUMENTS: Columns = {"id": (str, "text"), "text": (str, "text"), "title?": (str, "text")}


def _fits(kind: pa.DataType, accepted: Any) -> bool:
    """Return whether an Arrow type is text, an integer, a list, a struct, or one of several."""
    types = pa.types
    if accepted is int:
        return bool(types.is_integer(kind))
    if accepted is str:
        if types.is_dictionary(kind):
            return _fits(kind.value_type, str)
        return bool(
            types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
        )
    if isinstance(accepted, tuple):
        return any(_fits(kind, one) for one in accepted)
    if isinstance(accepted, list):
        is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        return bool(is_list) and _fits(kind.value_type, accepted[0])
    fields = {field.name: field.type for field in kind} if types.is_struct(kind) else {}
    return all(
        _fits(fields[name], value) if name in fields else key.endswith("?")
        for key, value in accepted.items()
        for name in [key.removesuffix("?")]
    )


def check_columns(schema: pa.Schema, columns: Columns) -> tuple[str, ...]:
    """Check the columns of a table, and return the names of those to read."""
    for key, (accepted, expected) in columns.items():
        name = key.removesuffix("?")
        place = schema.get_field_index(name)
        if place < 0 and not key.endswith("?"):
            names = ", ".join(schema.names) or "none"
            raise InputError(f"no column {name!r} (columns: {names})")
        if place >= 0 and not _fits(kind := schema.field(place).type, accepted):
            raise InputError(f"column {name!r} is {kind}; it must be {expected}")
    return tuple(name for key in columns if (name := key.removesuffix("?")) in schema.names)
