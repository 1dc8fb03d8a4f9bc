import gzip
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from rejoinder.datasets.files import (
    JsonObject,
    parse_label,
    read_fields,
    read_json_lines,
    read_json_list,
    read_json_object,
    read_lines,
)
from rejoinder.errors import DataError

Write = Callable[[str, str], Path]


def test_only_a_line_feed_ends_a_line(write: Write) -> None:
    path = write("a.txt", "one\u2028still one\x85and on\nsecond")

    assert list(read_lines(path)) == [(1, "one\u2028still one\x85and on"), (2, "second")]


def test_windows_line_ends_and_a_byte_order_mark_are_removed(write: Write) -> None:
    path = write("a.txt", "\ufeffone\r\n\ufefftwo\r\n")

    assert list(read_lines(path)) == [(1, "one"), (2, "\ufefftwo")]


def test_compressed_files_are_decompressed(write: Write) -> None:
    path = write("a.txt.gz", "one\ntwo\n")

    assert list(read_lines(path)) == [(1, "one"), (2, "two")]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.txt: No such file or directory"):
        list(read_lines(tmp_path / "nowhere.txt"))


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r": Is a directory$"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_an_empty_file_is_an_error(write: Write, name: str) -> None:
    with pytest.raises(DataError, match=rf"{name}: the file is empty$"):
        list(read_lines(write(name, "")))


def test_corrupt_compressed_data_names_the_line_it_reached(write: Write) -> None:
    path = write("a.txt.gz", "")
    lines = "".join(f"line {number * 7919 % 10007}\n" for number in range(5000))
    raw = gzip.compress(lines.encode())
    path.write_bytes(raw[: len(raw) // 2])

    with pytest.raises(DataError, match=r"a\.txt\.gz:\d\d+: the compressed data is corrupt"):
        list(read_lines(path))


def test_plain_text_under_a_compressed_name_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_text("plain text")

    with pytest.raises(DataError, match=r"a\.gz:1: the compressed data is corrupt \(Not a gzipped"):
        list(read_lines(path))


def test_bytes_that_are_not_utf_8_are_named_with_their_column(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\nca\xe9\n")

    with pytest.raises(DataError, match=r"a\.txt:2: not UTF-8: byte 0xe9 at column 3$"):
        list(read_lines(path))


@pytest.mark.parametrize(("line", "found"), [("only one", 1), ("a\tb\tc", 3), ("", 1)])
def test_a_wrong_number_of_columns_names_the_line(write: Write, line: str, found: int) -> None:
    path = write("a.tsv", f"a\tb\n{line}\n")

    with pytest.raises(DataError, match=rf"a\.tsv:2: expected 2 columns, found {found}$"):
        list(read_fields(path, 2))


def test_labels_are_0_and_1(tmp_path: Path) -> None:
    assert parse_label("1", tmp_path, 1)
    assert not parse_label("0", tmp_path, 1)


@pytest.mark.parametrize("label", ["", "2", "1.0", " 1", "yes"])
def test_another_label_is_an_error(label: str) -> None:
    with pytest.raises(DataError, match=rf"a\.tsv:7: label must be 0 or 1, found '{label}'$"):
        parse_label(label, Path("a.tsv"), 7)


WriteRows = Callable[[str, Iterable[object]], Path]


def make(**fields: object) -> JsonObject:
    return JsonObject(fields, Path("a.jsonl"), 4)


def test_a_missing_field_is_named_with_its_line() -> None:
    with pytest.raises(DataError, match=r"^a\.jsonl:4: field 'text' is missing$"):
        make().get("text", str)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (str, 7, "must be a string, found 7"),
        (int, True, "must be a whole number, found true"),
        (int, 1.0, "must be a whole number, found 1.0"),
        (bool, 1, "must be true or false, found 1"),
        (list, {"a": 1}, 'must be a list, found {"a": 1}'),
        (dict, None, "must be an object, found null"),
    ],
)
def test_a_field_of_the_wrong_kind_is_shown(kind: type, value: object, message: str) -> None:
    with pytest.raises(DataError) as raised:
        make(field=value).get("field", kind)

    assert str(raised.value) == f"a.jsonl:4: field 'field' {message}"


def test_a_long_value_is_truncated_in_the_message() -> None:
    with pytest.raises(DataError) as raised:
        make(field="x" * 1000).get("field", int)

    assert str(raised.value).endswith('found "' + "x" * 39)


def test_a_null_field_counts_as_missing_if_optional() -> None:
    row = make(title=None, name="n")

    assert row.get_optional("title", str, "none") == "none"
    assert row.get_optional("absent", str, "none") == "none"
    assert row.get_optional("name", str, "none") == "n"


def test_ids_may_be_whole_numbers() -> None:
    row = make(number=-7, text="q1", flag=True)

    assert row.get_id("number") == "-7"
    assert row.get_id("text") == "q1"
    with pytest.raises(DataError, match=r"field 'flag' must be a string, found true"):
        row.get_id("flag")


def test_labels_in_json_are_0_and_1() -> None:
    row = make(good=1, bad=0, odd=2)

    assert row.get_label("good")
    assert not row.get_label("bad")
    with pytest.raises(DataError, match=r"field 'odd' must be 0 or 1, found 2$"):
        row.get_label("odd")


def test_an_item_of_the_wrong_kind_is_numbered() -> None:
    with pytest.raises(DataError, match=r"a\.jsonl:4: names\[1\] must be a string, found 2$"):
        make(names=["one", 2]).get_list("names", str)


def test_a_nested_error_names_its_path() -> None:
    row = make(data=[{"qas": {}}, {"qas": {"x": []}}])

    with pytest.raises(DataError, match=r"^a\.jsonl:4: data\[1\]\.qas: field 'id' is missing$"):
        row.get_objects("data")[1].get_object("qas").get("id", str)


def test_lines_know_their_number_and_blank_ones_are_skipped(write: Write) -> None:
    path = write("a.jsonl", '{"a": 1}\n\n  \n{"a": 2}\n')

    assert [(row.line, row.fields) for row in read_json_lines(path)] == [
        (1, {"a": 1}),
        (4, {"a": 2}),
    ]


def test_a_truncated_line_is_named_with_its_column(write: Write) -> None:
    path = write("a.jsonl", '{"a": 1}\n{"a": [1, \n')

    with pytest.raises(DataError, match=r"a\.jsonl:2: not JSON: Expecting value at column 11$"):
        list(read_json_lines(path))


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (read_json_lines, '{"a": 1}\n{"a": "b', "not JSON: .* at column 7"),
        (lambda path: read_fields(path, 3), "q\ta\t1\nq\tb", "expected 3 columns, found 2"),
    ],
)
def test_a_file_that_ends_inside_a_line_seems_truncated(
    write: Write, read: Callable[[Path], Iterable[object]], text: str, problem: str
) -> None:
    hint = "; the file seems to be truncated: get it again"
    with pytest.raises(DataError, match=rf"a\.txt:2: {problem}{hint}$"):
        list(read(write("a.txt", text)))
    with pytest.raises(DataError, match=rf"a\.txt:2: {problem}$"):
        list(read(write("a.txt", f"{text}\n{text}\n")))
    with pytest.raises(DataError, match=rf"a\.txt:2: {problem}$"):
        list(read(write("a.txt", f"{text}\n")))


def test_a_line_must_be_an_object(write: Write) -> None:
    with pytest.raises(DataError, match=r"a\.jsonl:1: expected a JSON object on each line$"):
        list(read_json_lines(write("a.jsonl", "[1]\n")))


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000])
def test_json_that_python_gives_up_on_is_an_error_of_the_file(write: Write, text: str) -> None:
    with pytest.raises(DataError, match=r"a\.jsonl:1: not JSON: "):
        list(read_json_lines(write("a.jsonl", f'{{"a": {text}}}')))


def test_a_whole_file_may_span_lines(write: Write) -> None:
    path = write("a.json", '{\n"a":\n1}\n')

    assert read_json_object(path).fields == {"a": 1}


def test_an_error_in_a_whole_file_names_its_line(write: Write) -> None:
    path = write("a.json", '{\n"a": 1,\n"b" 2}\n')

    with pytest.raises(DataError, match=r"a\.json:3: not JSON: Expecting ':' delimiter at column"):
        read_json_object(path)


def test_a_whole_file_must_have_the_expected_type(write: Write) -> None:
    with pytest.raises(DataError, match=r"a\.json: expected one JSON object$"):
        read_json_object(write("a.json", "[]"))
    with pytest.raises(DataError, match=r"b\.json: expected one JSON list$"):
        read_json_list(write("b.json", "{}"))
    with pytest.raises(DataError, match=r"c\.json: list\[1\] must be an object, found 3$"):
        read_json_list(write("c.json", "[{}, 3]"))
