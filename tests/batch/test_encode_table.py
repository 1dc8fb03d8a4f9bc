from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from rejoinder.batch.encode_table import add_parts, encode_table
from rejoinder.batch.schemas import ENCODED
from rejoinder.cli import main
from rejoinder.errors import InputError
from rejoinder.index.index import Index
from tests.index.conftest import GUIDE, PIECES

TEXT = "# Green tea\n\nTea is always hot. Let it steep briefly.\n\nMilk will spoil it.\n"


def to_batch(*rows: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows))


def test_parts_make_the_index_that_files_make(tmp_path: Path) -> None:
    path = tmp_path / "tea.txt"
    path.write_text(TEXT, encoding="utf-8")
    encoded = encode_table(to_batch({"id": str(path), "text": TEXT}), tokenizer=PIECES)

    assert encoded.schema == ENCODED
    with (
        Index(tmp_path / "files", create=True, tokenizer=PIECES) as from_files,
        Index(tmp_path / "parts", create=True, tokenizer=PIECES) as from_parts,
    ):
        from_files.add([path])
        assert list(add_parts(from_parts, [encoded])) == [1]
        assert from_parts.check() == []
        assert from_parts.store.get_sentences(1) == from_files.store.get_sentences(1)
        assert from_parts.store.get_text(1) == from_files.store.get_text(1)
        assert from_parts.store.get_documents()[0].title == "Green tea"
        hit = from_parts.search("what spoils it?", 1)[0].candidate
        assert hit.text == "Milk will spoil it."


def test_a_table_on_disk_makes_the_index_that_text_files_make(tmp_path: Path) -> None:
    texts = {
        "guide": GUIDE,
        "tea": TEXT,
        "long": "Water is boiled in it. " * 200 + "\n\n- First you must\r\n  boil water.\n",
        "empty": "",
    }
    rows, paths = [], []
    for name, text in texts.items():
        paths.append(tmp_path / f"{name}.txt")
        paths[-1].write_text(text, encoding="utf-8", newline="")
        rows.append({"id": str(paths[-1]), "text": text, "title": ""})
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    files, parts = tmp_path / "files", tmp_path / "parts"

    for call in (
        ["encode-table", f"{tmp_path}/in.parquet", f"{tmp_path}/out.parquet"],
        ["index", "load", f"{tmp_path}/out.parquet", "--index", str(parts)],
        ["index", "add", *map(str, paths), "--index", str(files)],
        ["index", "check", "--index", str(parts)],
    ):
        result = CliRunner().invoke(main, call)
        assert result.exit_code == 0, result.output

    with Index(files) as from_files, Index(parts) as from_parts:
        for table in ("blocks", "sentences", "texts"):
            query = f"SELECT * FROM {table} ORDER BY 1, 2"
            assert from_parts.store.query(query) == from_files.store.query(query), table
        assert [item.title for item in from_parts.documents()][:2] == ["Guide", "Green tea"]


def test_parts_that_are_added_again_replace_themselves(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "Ice will always melt.", "title": "Ice"},
        {"id": "b", "text": "Bees can dance well."},
    ]
    encoded = encode_table(to_batch(*rows), tokenizer=PIECES)

    with Index(tmp_path / "index", create=True, tokenizer=PIECES) as index:
        list(add_parts(index, [encoded]))
        list(add_parts(index, [encoded]))
        assert index.store.count() == (2, 2)
        assert [item.candidate.text for item in index.search("ice", 9)] == ["Ice will always melt."]
        assert index.store.get_documents()[0].title == "Ice"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"text": "a"}, "no column 'id'"),
        ({"id": "", "text": "a"}, "row 5: the id is empty"),
        ({"id": "a", "text": 1}, "column 'text' is int64"),
    ],
)
def test_an_invalid_table_is_named(row: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        encode_table(to_batch(row), tokenizer=PIECES, first_row=5)


def test_a_null_is_named_with_its_row() -> None:
    rows: list[dict[str, Any]] = [{"id": "a", "text": "a"}, {"id": "b", "text": None}]

    with pytest.raises(InputError, match="row 1: the text is null"):
        encode_table(to_batch(*rows), tokenizer=PIECES)


def test_a_table_becomes_an_index_on_the_command_line(tmp_path: Path) -> None:
    rows = [{"id": f"d{number}", "text": f"Ice number {number} melts."} for number in range(9)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    encoded, index = str(tmp_path / "encoded.parquet"), str(tmp_path / "index")

    for call in (
        ["encode-table", str(tmp_path / "in.parquet"), encoded],
        ["index", "load", encoded, "--index", index],
    ):
        result = CliRunner().invoke(main, call)
        assert result.exit_code == 0, result.output
    assert "9 documents loaded" in result.output
    with Index(Path(index)) as opened:
        assert opened.search("number 7", 1)[0].candidate.text == "Ice number 7 melts."


def test_a_loaded_table_is_stored_like_added_files(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    from tests.models.hashers import write_tiny_has

    write_tiny_has(tmp_path / "has")
    (tmp_path / "tea.md").write_text(TEXT, encoding="utf-8")
    pq.write_table(
        pa.Table.from_pylist([{"id": "a", "text": "Ice will always melt."}]),
        tmp_path / "in.parquet",
    )
    encoded, index = str(tmp_path / "encoded.parquet"), str(tmp_path / "index")

    for call in (
        [
            "index",
            "add",
            str(tmp_path / "tea.md"),
            "--index",
            index,
            "--sidecar",
            f"{tmp_path}/has",
        ],
        ["encode-table", str(tmp_path / "in.parquet"), encoded],
        ["index", "load", encoded, "--index", index],
        ["index", "check", "--index", index],
    ):
        result = CliRunner().invoke(main, call)
        assert result.exit_code == 0, result.output
    assert "2 documents" in result.output
