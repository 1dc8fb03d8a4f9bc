import json

import pytest

from rejoinder.errors import StoreError
from rejoinder.retrieval.record import Schema, read_schema_json

SCHEMA = Schema("an index", "an encoder", "", 256)
FIELDS = json.loads(SCHEMA.to_json())


def test_a_schema_is_read_back_equal() -> None:
    assert read_schema_json("notes", SCHEMA.to_json()) == SCHEMA


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no JSON", "malformed"),
        (b"\xff", "malformed"),
        ("[]", "Expected `object`"),
        ("{}", "missing required field `source`"),
        (json.dumps({**FIELDS, "width": "256"}), "Expected `int`, got `str` - at `$.width`"),
        (json.dumps({**FIELDS, "shards": 2}), "unknown field `shards`"),
    ],
)
def test_another_schema_names_the_index_and_what_is_wrong(text: str | bytes, problem: str) -> None:
    with pytest.raises(StoreError) as raised:
        read_schema_json("notes", text)

    message = str(raised.value)
    assert message.startswith("notes: its schema is not one of rejoinder (")
    assert problem in message
    assert message.endswith("; export the index again, under another name")


def test_a_schema_of_another_version_names_both() -> None:
    with pytest.raises(
        StoreError, match=r"^notes: was exported by another version .*\(format 99\."
    ):
        read_schema_json("notes", json.dumps({**FIELDS, "format": 99}))
