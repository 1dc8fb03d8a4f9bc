"""Files of complex formats are read in a child; a hostile one harms nothing but itself."""

import gzip
import io
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from rejoinder.documents import formats
from rejoinder.documents import sandbox as module
from rejoinder.documents.sandbox import SandboxedReader, serve
from rejoinder.errors import InputError
from tests.documents.files import PAGE, PARAGRAPHS, make_docx, make_pdf
from tests.documents.parsed import read_whole


def test_all_come_through_the_sandbox(tmp_path: Path, sandbox: SandboxedReader) -> None:
    (tmp_path / "a.html").write_bytes(PAGE)
    (tmp_path / "b.docx").write_bytes(make_docx(PARAGRAPHS))
    (tmp_path / "c.pdf").write_bytes(make_pdf(["It rains."], ["Milk spoils it."]))

    page, word, pdf = (read_whole(path, sandbox)[0] for path in sorted(tmp_path.iterdir()))

    assert (page.title, word.title, pdf.title) == ("Green tea", "Tea", "c")
    assert [(item.line, item.page) for item in page.sentences[:2]] == [(4, None), (5, None)]
    assert [(item.line, item.page) for item in pdf.sentences] == [(None, 1), (None, 2)]
    assert [(item.line, item.page) for item in word.sentences[:1]] == [(None, None)]


@pytest.mark.parametrize(
    ("name", "raw", "problem"),
    [
        ("a.pdf", b"%PDF-1.4 nothing", "not a PDF that can be read"),
        ("a.pdf", make_pdf([]), "a PDF without text"),
        ("a.docx", b"PK nothing", "not a Word file that can be read"),
        ("a.docx", make_docx("<w:p>"), "not a Word file that can be read"),
        ("a.docx", make_docx("<w:p>&b;</w:p>"), "not a Word file that can be read"),
        ("a.html", b"\x7fELF\2\1\1\0\0\0" * 50, "not text"),
    ],
)
def test_a_bad_file_is_named_and_the_sandbox_continues(
    tmp_path: Path, sandbox: SandboxedReader, name: str, raw: bytes, problem: str
) -> None:
    path = tmp_path / name
    path.write_bytes(raw)
    good = tmp_path / "good.html"
    good.write_bytes(PAGE)

    with pytest.raises(InputError, match=rf"{name}: {problem}"):
        read_whole(path, sandbox)
    assert read_whole(good, sandbox)[0].title == "Green tea"


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "slow.pdf"
    path.write_bytes(make_pdf(*[["Tea is hot."] * 40] * 2_000))

    with (
        SandboxedReader(max_seconds=0.1) as sandbox,
        pytest.raises(InputError, match="longer than"),
    ):
        read_whole(path, sandbox)


@pytest.mark.parametrize("megabytes", range(90, 130, 5))  # the parser may fail at any place
def test_a_file_that_takes_too_much_memory_is_given_up(tmp_path: Path, megabytes: int) -> None:
    path = tmp_path / "large.html"
    path.write_bytes(b"<p>tea" * 3_000_000)

    with (
        SandboxedReader(max_memory_bytes=megabytes * 1_000_000) as sandbox,
        pytest.raises(InputError, match="needs too much memory"),
    ):
        read_whole(path, sandbox)


def test_without_a_memory_limit_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(PAGE)
    monkeypatch.setattr(module, "HAS_MEMORY_LIMIT", False)
    module._warn_without_limit.cache_clear()

    for _ in range(2):
        with SandboxedReader() as sandbox:
            assert read_whole(path, sandbox)[0].title == "Green tea"

    assert [record.getMessage() for record in caplog.records] == [
        "this system limits no memory: a hostile file can use all of it while it is read"
    ]


def test_the_time_that_the_parent_works_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(b"<p>It rains a lot here.</p>" * 50_000)

    with SandboxedReader(max_seconds=20) as sandbox:
        read_whole(path, sandbox)  # the child has started
        assert sandbox._watchdog
        sandbox._watchdog._max_seconds = 1.5
        document = next(iter(sandbox.read(path, "html")))
        time.sleep(2)
        assert sum(1 for _ in document.blocks) == 50_000


def test_a_sandbox_that_dies_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(PAGE)

    with SandboxedReader() as sandbox:
        read_whole(path, sandbox)
        process = sandbox._process
        assert process
        process.kill()
        process.wait()
        with pytest.raises(InputError, match="crashes the program that reads it"):
            read_whole(path, sandbox)
        assert read_whole(path, sandbox)[0].title == "Green tea"


def test_a_file_that_is_left_half_read_does_not_mix_with_the_next(tmp_path: Path) -> None:
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    first.write_bytes(b"<title>one</title>" + b"<p>It rains a lot here.</p>" * 20_000)
    second.write_bytes(b"<title>two</title><p>Milk spoils the taste of it.</p>")

    with SandboxedReader() as sandbox:
        document = next(iter(sandbox.read(first, "html")))
        assert next(iter(document.blocks)).text == "It rains a lot here."
        (other,) = read_whole(second, sandbox)

    assert other.title == "two"
    assert [item.text for item in other.sentences] == ["Milk spoils the taste of it."]


def test_several_documents_of_a_file_come_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "It is hot."}\n{"text": "It is cold."}\n'))

    with SandboxedReader() as sandbox:
        first, second = read_whole(path, sandbox)
        # The blocks are left unread.
        titles = [document.title for document in sandbox.read(path, "json_lines")]

    assert [item.text for item in (*first.sentences, *second.sentences)] == [
        "It is hot.",
        "It is cold.",
    ]
    assert titles == ["", ""]


def test_gzipped_files_are_unpacked_within_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html.gz"
    path.write_bytes(gzip.compress(PAGE))
    request = json.dumps([os.fsencode(path).hex(), "html"]).encode() + b"\n"
    replies = io.BytesIO()

    monkeypatch.setattr(module, "MAX_UNPACKED_BYTES", 100)
    serve(io.BytesIO(request), replies)

    assert b"more than 0 MB when unpacked" in replies.getvalue()
    with SandboxedReader() as sandbox:
        assert read_whole(path, sandbox)[0].title == "Green tea"
        path.write_bytes(gzip.compress(PAGE)[:100])
        with pytest.raises(InputError, match="not a gzipped file that can be read"):
            read_whole(path, sandbox)


def test_the_child_says_why_it_cannot_read(tmp_path: Path) -> None:
    requests = [(tmp_path / "none.html", "html"), (tmp_path, "pdf")]
    sent = b"".join(json.dumps([os.fsencode(p).hex(), s]).encode() + b"\n" for p, s in requests)
    received = io.BytesIO()

    serve(io.BytesIO(sent), received)

    assert b"No such file or directory" in received.getvalue()
    assert b"Is a directory" in received.getvalue()


def test_a_prefetched_file_is_read_while_the_parent_works(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        page = f"<title>{name}</title><p>It rains a lot here.</p>"
        (tmp_path / f"{name}.html").write_text(page, encoding="utf-8")
    first, second, third = sorted(tmp_path.iterdir())

    with SandboxedReader() as sandbox:
        sandbox.prefetch(first, "html")
        sandbox.prefetch(second, "html")
        (one,), (two,) = read_whole(first, sandbox), read_whole(second, sandbox)
        sandbox.prefetch(first, "html")
        (three,) = read_whole(third, sandbox)  # not the one that was prefetched

    assert [one.title, two.title, three.title] == ["a", "b", "c"]


def test_a_prefetched_file_survives_a_bad_one_before_it(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.pdf", tmp_path / "good.html"
    bad.write_bytes(make_pdf(*[["Tea is hot."] * 40] * 2_000))
    good.write_bytes(PAGE)

    with SandboxedReader(max_seconds=0.1) as sandbox:
        sandbox.prefetch(bad, "pdf")
        sandbox.prefetch(good, "html")
        with pytest.raises(InputError, match="longer than"):
            read_whole(bad, sandbox)
        sandbox._max_seconds = 60
        assert read_whole(good, sandbox)[0].title == "Green tea"


def serve_file(path: Path, format_: str) -> list[Any]:
    """Return what the child replies to one request."""
    replies = io.BytesIO()
    serve(io.BytesIO(json.dumps([os.fsencode(path).hex(), format_]).encode() + b"\n"), replies)
    raw, found = replies.getvalue(), []
    while raw:
        end = 8 + int.from_bytes(raw[:8], "big")
        found.append(json.loads(raw[8:end]))
        raw = raw[end:]
    return found


def test_the_child_replies_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tea.html"
    path.write_bytes(b"<title>Tea</title>" + b"<p>It is hot.</p>" * 5)
    monkeypatch.setattr(module, "BATCH", 2)

    document, *batches, end = serve_file(path, "html")

    assert document[:2] == ["document", "Tea"]
    assert [kind for kind, _ in batches] == ["blocks"] * 3
    assert [[block[1] for block in blocks] for _, blocks in batches] == [
        ["It is hot."] * 2,
        ["It is hot."] * 2,
        ["It is hot."],
    ]
    assert end == ["end"]

    monkeypatch.setattr(module, "BATCH_TEXT", 5)
    assert [len(blocks) for kind, blocks in serve_file(path, "html")[1:-1]] == [1] * 5


def test_the_child_stops_a_file_with_too_much_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tea.html"
    path.write_bytes(b"<p>It is hot.</p>" * 5)
    monkeypatch.setattr(module, "BATCH", 1)
    monkeypatch.setattr(module, "MAX_TEXT", 25)

    document, *batches, error = serve_file(path, "html")

    assert (document[0], len(batches)) == ("document", 2)
    assert error == ["error", "more than 0 MB of text"]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "needs too much memory to read"),
        (RecursionError(), "is nested too deep to read"),
        (OSError(), "cannot be read"),
    ],
)
def test_the_child_survives_what_a_parser_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    path = tmp_path / "tea.html"
    path.write_bytes(PAGE)

    def fail(*given: Any) -> Any:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(formats, "read", fail)
        assert serve_file(path, "html") == [["error", reason]]
    assert serve_file(path, "html")[-1] == ["end"]


def test_the_child_says_that_a_gzipped_file_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "tea.html.gz"
    path.write_bytes(gzip.compress(PAGE))
    assert serve_file(path, "html")[0][:2] == ["document", "Green tea"]
    path.write_bytes(gzip.compress(PAGE)[:100])

    ((kind, reason),) = serve_file(path, "html")

    assert (kind, "not a gzipped file that can be read" in reason) == ("error", True)
