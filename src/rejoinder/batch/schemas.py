"""The columns of input and output tables.

Questions have the fields of the JSON lines format (datasets/readers/jsonl.py); documents those
of the rows that `index add` reads.  Every text type and list type of Arrow is accepted.
"""

from collections.abc import Callable

import pyarrow as pa

from rejoinder.errors import InputError

RANKED = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("question", pa.string(), nullable=False),
        pa.field(
            "answers",
            pa.list_(
                pa.struct(
                    [
                        pa.field("id", pa.string()),
                        pa.field("text", pa.string()),
                        pa.field("document", pa.string()),
                        pa.field("position", pa.int64()),
                        pa.field("score", pa.float64()),
                        pa.field("stage", pa.int32()),
                    ]
                )
            ),
            nullable=False,
        ),
        pa.field("confidence", pa.float64()),
        pa.field("abstains", pa.bool_(), nullable=False),
    ]
)
"""One row per question: its candidates, best first, and the confidence in the first."""

ENCODED = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
        pa.field(
            "sentences",
            pa.list_(
                pa.struct(
                    [
                        pa.field("text", pa.string()),
                        pa.field("start", pa.int64()),
                        pa.field("end", pa.int64()),
                        pa.field("line", pa.int64()),
                        pa.field("paragraph", pa.int64()),
                        pa.field("is_heading", pa.bool_()),
                        pa.field("tokens", pa.binary()),
                    ]
                )
            ),
            nullable=False,
        ),
    ]
)
"""One row per document: its sentences with offsets and tokens, as an index stores them."""

Fits = Callable[[pa.DataType], bool]


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def is_list_of(fits: Fits) -> Fits:
    """Return a check for lists of items that pass another check."""

    def check(kind: pa.DataType) -> bool:
        is_list = (
            pa.types.is_list(kind)
            or pa.types.is_large_list(kind)
            or pa.types.is_fixed_size_list(kind)
        )
        return bool(is_list) and fits(kind.value_type)

    return check


def is_struct_of(required: dict[str, Fits], optional: dict[str, Fits]) -> Fits:
    """Return a check for structs with these fields."""

    def check(kind: pa.DataType) -> bool:
        if not pa.types.is_struct(kind):
            return False
        fields = {field.name: field.type for field in kind}
        known = required | optional
        return required.keys() <= fields.keys() and all(
            known[name](type_) for name, type_ in fields.items() if name in known
        )

    return check


_is_candidate = is_struct_of(
    {"text": is_text}, {"id": is_text, "document": is_text, "position": pa.types.is_integer}
)
_is_document = is_struct_of({"id": is_text}, {"title": is_text, "sentences": is_list_of(is_text)})

Columns = dict[str, tuple[Fits, str]]
"""For each column a check of its type, and its description; a name with `?` is optional."""

QUESTIONS: Columns = {
    "question": (is_text, "text"),
    "candidates": (
        lambda kind: is_list_of(is_text)(kind) or is_list_of(_is_candidate)(kind),
        "a list of texts, or of structs with a text, and id, document and position where known",
    ),
    "id?": (is_text, "text"),
    "documents?": (is_list_of(_is_document), "a list of structs with an id, title and sentences"),
}
DOCUMENTS: Columns = {
    "id": (is_text, "text"),
    "text": (is_text, "text"),
    "title?": (is_text, "text"),
}


def check_columns(schema: pa.Schema, columns: Columns) -> None:
    """Check the columns of a table.

    Raises:
        InputError: a column is missing, or of another type.
    """
    for key, (fits, expected) in columns.items():
        name = key.removesuffix("?")
        place = schema.get_field_index(name)
        if place < 0 and not key.endswith("?"):
            names = ", ".join(schema.names) or "none"
            raise InputError(f"no column {name!r} (columns: {names})")
        if place >= 0 and not fits(schema.field(place).type):
            kind = schema.field(place).type
            raise InputError(f"column {name!r} is {kind}; it must be {expected}")


def choose_columns(schema: pa.Schema, columns: Columns) -> list[str]:
    """Return the names of the columns to read."""
    return [name for key in columns if (name := key.removesuffix("?")) in schema.names]
