import io
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.documents.blocks import Block, sanitize
from rejoinder.documents.formats import text as module
from rejoinder.documents.formats.text import read, read_text
from rejoinder.errors import InputError

PIECES = st.sampled_from(
    ["Word. ", "\n", "\n\n", "    x()", "- x\n", "# T\n", "===\n", "\r\n", "\r", "\x00", "\ud800"]
)


def read_bytes(raw: bytes) -> list[Block]:
    (document,) = read(io.BytesIO(raw))
    assert document.title == ""
    return list(document.blocks)


def join(blocks: list[Block]) -> str:
    return "".join((block.gap or "") + block.text for block in blocks)


@given(st.lists(PIECES).map("".join))
def test_blocks_and_gaps_are_the_text(text: str) -> None:
    joined = join(list(read_text(text)))

    assert sanitize(text).startswith(joined)
    rest = sanitize(text)[len(joined) :]
    assert not any(character.isalpha() for character in rest)


def test_blocks_have_kinds_lines_and_paths() -> None:
    text = "\nTea\n===\n\nIt is\nhot.\n\nGreen\n-----\n- one\n- two\n\nBlack\n-----\n\n    x = 1\n"

    assert [(b.kind, b.text, b.path, b.line) for b in read_text(text)] == [
        ("heading", "Tea", (), 2),
        ("paragraph", "It is\nhot.", ("Tea",), 5),
        ("heading", "Green", ("Tea",), 8),
        ("item", "one", ("Tea", "Green"), 10),
        ("item", "two", ("Tea", "Green"), 11),
        ("heading", "Black", ("Tea",), 13),
        ("code", "x = 1", ("Tea", "Black"), 16),
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_the_system_of_the_file_ends_them(newline: str) -> None:
    raw = newline.join(["One.", "", "Two,", "three.", "", "Four."]).encode()

    assert [block.line for block in read_bytes(raw)] == [1, 3, 6]


def test_terms_and_titles_head_what_is_indented_below_them() -> None:
    text = (
        "1. Tea\n\n   Strength\n      How strong it is.\n\n      It varies a lot.\n\n"
        "   Green\n\n      It is green.\n\n   All of it is hot.\n"
    )

    paths = {block.text.split()[0]: block.path for block in read_text(text)}
    assert paths["Strength"] == ("1. Tea",)
    assert paths["It"] == ("1. Tea", "Green")
    assert paths["All"] == ("1. Tea",)
    assert next(block.path for block in read_text(text) if "varies" in block.text) == (
        "1. Tea",
        "Strength",
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings_are_detected(encoding: str) -> None:
    text = "Größe und Höhe der Wälder sind überall verschieden; das weiß man für die Straßen. " * 9

    assert join(read_bytes(text.encode(encoding))) == text.rstrip()


def test_a_character_at_the_border_of_a_piece_is_decoded() -> None:
    text = "ä€" * 300_000

    assert join(read_bytes(text.encode())) == text


def test_the_encoding_is_that_of_the_whole_file() -> None:
    raw = ("It is hot. " * 40_000 + "Größe.").encode("cp1252")

    assert join(read_bytes(raw)).startswith("It is hot.")


@pytest.mark.parametrize("raw", [b"\x7fELF\2\1\1\0\0\0\0\0" * 50, bytes(range(256)) * 2000])
def test_binary_is_not_text(raw: bytes) -> None:
    with pytest.raises(InputError, match="not text"):
        read_bytes(raw)


def test_an_empty_file_has_no_blocks() -> None:
    assert read_bytes(b"") == read_bytes(b" \n\n\n") == []


def test_pieces_end_at_blank_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PIECE", 1000)
    text = "".join(f"Sentence {number} is\nhere.\n\n" for number in range(60_000))

    blocks = read_bytes(text.encode())
    assert join(blocks) == text.rstrip()
    assert {block.text.count("here.") for block in blocks} == {1}


@pytest.mark.parametrize("line", ["It is hot.\n", "word ", "x"])
def test_a_text_without_blank_lines_is_cut_at_lines_or_words(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PIECE", 1000)
    text = line * (1_000_000 // len(line))

    blocks = read_bytes(text.encode())
    assert join(blocks) == text.rstrip()
    assert len(blocks) > 1
    assert all(block.text.endswith(line.strip()) for block in blocks)


def test_memory_does_not_grow_with_the_file() -> None:
    raw = b"It is hot, and it rains.\n\n" * 150_000
    tracemalloc.start()
    (document,) = read(io.BytesIO(raw))
    count = sum(1 for _ in document.blocks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 150_000
    assert peak < 5_000_000
