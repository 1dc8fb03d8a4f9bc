import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.datasets.json_rows import Id, parse_json_lines, read_json, read_json_lines
from rejoinder.errors import DataError

Write = Callable[[str, str], Path]


class Item(msgspec.Struct):
    label: Literal[0, 1] = 0
    name: str | None = None
    way: Literal["in", "out"] = "in"
    size: int = 0
    pair: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if self.size == 13:
            raise ValueError("13 is unlucky")


class Row(msgspec.Struct):
    text: str
    id: Id = ""
    items: tuple[Item, ...] = ()
    names: list[str] = []
    named: dict[str, Item] = {}
    is_good: bool = True
    score: float | None = None


def read(value: object) -> Row:
    ((_, row),) = parse_json_lines([(4, json.dumps(value))], Path("a.jsonl"), Row)
    return row


def explain(**fields: object) -> str:
    with pytest.raises(DataError) as raised:
        read({"text": "", **fields})
    return str(raised.value).removeprefix("a.jsonl:4: ")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"text": 7}, "field 'text' must be a string, found 7"),
        ({"text": None}, "field 'text' must be a string, found null"),
        ({"is_good": 1}, "field 'is_good' must be true or false, found 1"),
        ({"score": "high"}, "field 'score' must be a number, found \"high\""),
        ({"items": {"a": 1}}, "field 'items' must be a list, found {\"a\": 1}"),
        ({"items": [{}, 3]}, "items[1] must be an object, found 3"),
        ({"items": [{"size": True}]}, "items[0]: field 'size' must be a whole number, found true"),
        ({"items": [{"size": 1.0}]}, "items[0]: field 'size' must be a whole number, found 1.0"),
        ({"items": [{"label": 2}]}, "items[0]: field 'label' must be 0 or 1, found 2"),
        (
            {"items": [{"label": "1"}]},
            "items[0]: field 'label' must be a whole number, found \"1\"",
        ),
        ({"items": [{"way": "up"}]}, 'items[0]: field \'way\' must be "in" or "out", found "up"'),
        ({"items": [{}, {"size": 13}]}, "items[1]: 13 is unlucky"),
        ({"named": {"a": {}, "b c": {"name": 3}}}, "named.b c: field 'name' must be a string, "),
        (
            {"items": [{"pair": [1]}]},
            "items[0]: field 'pair' must be a list of length 2, found [1]",
        ),
        ({"names": ["one", 2]}, "names[1] must be a string, found 2"),
    ],
)
def test_an_error_names_the_place_and_what_was_found(fields: dict[str, Any], problem: str) -> None:
    assert explain(**fields).startswith(problem)


def test_a_missing_field_is_named_with_its_line() -> None:
    with pytest.raises(DataError, match=r"^a\.jsonl:4: field 'text' is missing$"):
        read({})


def test_a_long_value_is_truncated_in_the_message() -> None:
    assert explain(score="x" * 1000).endswith('found "' + "x" * 39)


def test_ids_may_be_whole_numbers() -> None:
    assert [read({"text": "", "id": id}).id for id in (-7, "q1")] == [-7, "q1"]
    assert "field 'id' must be " in explain(id=True)
    assert "a string" in explain(id=True)


def test_an_optional_field_may_be_null() -> None:
    assert read({"text": "", "score": None}).score is None


def test_fields_of_no_interest_are_left_out() -> None:
    assert read({"text": "a", "other": [1, {"b": None}]}) == Row("a")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(text=st.text(st.characters()), other=json_values, escaped=st.booleans())
def test_published_json_is_read_as_python_reads_it(text: str, other: object, escaped: bool) -> None:
    """Also NaN, numbers of any length, and lone surrogates, which msgspec refuses."""
    line = json.dumps({"text": text, "other": other}, ensure_ascii=escaped)

    ((number, row),) = parse_json_lines([(7, line)], Path("a.jsonl"), Row)

    assert (number, row.text) == (7, text)


def test_a_lone_surrogate_is_kept(write: Write) -> None:
    path = write("a.jsonl", '{"text": "a\\ud800b"}\n{"text": "\\udc00", "score": NaN}\n')

    assert [row.text for _, row in read_json_lines(path, Row)] == ["a\ud800b", "\udc00"]


def test_lines_are_numbered_and_blank_ones_are_skipped(write: Write) -> None:
    path = write("a.jsonl", '{"text": "a"}\n\n  \n{"text": "b"}\n')

    assert list(read_json_lines(path, Row)) == [(1, Row("a")), (4, Row("b"))]


def test_a_truncated_line_is_named_with_its_column(write: Write) -> None:
    path = write("a.jsonl", '{"text": ""}\n{"a": [1, \n')

    with pytest.raises(DataError, match=r"a\.jsonl:2: not JSON: Expecting value at column 11$"):
        list(read_json_lines(path, Row))


def test_a_file_that_ends_inside_a_line_seems_truncated(write: Write) -> None:
    text, problem = '{"text": ""}\n{"text": "b', r"a\.txt:2: not JSON: .* at column 10"

    for whole, hint in (
        (text, "; the file seems to be truncated: get it again"),
        (f"{text}\n{text}\n", ""),
        (f"{text}\n", ""),
    ):
        with pytest.raises(DataError, match=rf"{problem}{hint}$"):
            list(read_json_lines(write("a.txt", whole), Row))


def test_a_wrong_type_in_the_last_line_is_no_truncation(write: Write) -> None:
    with pytest.raises(DataError, match=r"a\.txt:1: field 'text' must be a string, found 3$"):
        list(read_json_lines(write("a.txt", '{"text": 3}'), Row))


def test_a_line_must_be_of_the_type(write: Write) -> None:
    with pytest.raises(DataError, match=r"a\.jsonl:1: the value must be an object, found \[1\]$"):
        list(read_json_lines(write("a.jsonl", "[1]\n"), Row))


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000])
@pytest.mark.parametrize("field", ["text", "other"])
def test_json_that_python_gives_up_on_is_an_error_of_the_file(
    write: Write, text: str, field: str
) -> None:
    with pytest.raises(DataError, match=r"a\.jsonl:1: "):
        list(read_json_lines(write("a.jsonl", f'{{"{field}": {text}}}'), Row))


def test_a_whole_file_may_span_lines(write: Write) -> None:
    assert read_json(write("a.json", '{\n"text":\n"a"}\n'), Row) == Row("a")


def test_an_error_in_a_whole_file_names_its_line(write: Write) -> None:
    path = write("a.json", '{\n"text": "",\n"b" 2}\n')

    with pytest.raises(DataError, match=r"a\.json:3: not JSON: Expecting ':' delimiter at column"):
        read_json(path, Row)


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        (Row, "[]", "the value must be an object, found []"),
        (list[Row], "{}", "the value must be a list, found {}"),
        (list[Row], '[{"text": ""}, 3]', "[1] must be an object, found 3"),
        (list[Row], '[{"text": ""}, {}]', "[1]: field 'text' is missing"),
        (dict[str, Row], '{"a b": {}}', "a b: field 'text' is missing"),
        (dict[str, Row], '{"a b": 1}', "field 'a b' must be an object, found 1"),
    ],
)
def test_a_whole_file_must_have_the_expected_type(
    write: Write, kind: type, text: str, problem: str
) -> None:
    with pytest.raises(DataError) as raised:
        read_json(write("b.json", text), kind)

    assert str(raised.value).endswith(f"b.json: {problem}")
