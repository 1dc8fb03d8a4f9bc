"""Path tricks in archives: nothing is unpacked to disk, and nothing outside is read.

Archives that unpack without end, entities, deep elements and cycles are in
tests/documents/test_hostile.py, names of uploads in tests/server/api/test_native.py.
"""

import gzip
import io
import os
import stat
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rejoinder.documents.reading import read_file
from rejoinder.documents.sandbox import SandboxedReader
from rejoinder.errors import InputError
from tests.documents.test_hostile import ARCHIVES, make_archive

SECRET = "The password is tea."
TEXTS = {
    "docx": "<w:p><w:r><w:t>{}</w:t></w:r></w:p>",
    "odt": "<text:p>{}</text:p>",
    "pptx": "<a:p><a:r><a:t>{}</a:t></a:r></a:p>",
    "xlsx": '<sheetData><row><c t="inlineStr"><is><t>{}</t></is></c></row></sheetData>',
    "epub": "<p>{}</p>",
}
"""A text in the XML of each format."""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxedReader]:
    with SandboxedReader(max_seconds=30) as opened:
        yield opened


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with a file beside it that no archive may read."""
    (tmp_path / "secret.xml").write_text(f"<x>{SECRET}</x>", encoding="utf-8")
    home = tmp_path / "home"
    home.mkdir()
    return home


def read(home: Path, name: str, raw: bytes, sandbox: SandboxedReader) -> str:
    """Return the text of a file, or why it is refused; it writes nothing."""
    path = home / name
    path.write_bytes(raw)
    before = sorted(home.parent.rglob("*"))
    try:
        documents = list(read_file(path, sandbox=sandbox))
        text = "\n".join(block.text for one in documents for block in one.blocks)
    except InputError as error:
        text = f"refused: {error}"
    assert sorted(home.parent.rglob("*")) == before
    return text


def make_links(raw: bytes, part: str, target: Path) -> bytes:
    """Return an archive all of whose parts are marked as symbolic links; one leads to a file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as source, zipfile.ZipFile(packed, "w") as links:
        for name in source.namelist():
            info = zipfile.ZipInfo(name)
            info.create_system = 3  # Unix
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            links.writestr(info, os.fsencode(target) if name == part else source.read(name))
    return packed.getvalue()


@pytest.mark.parametrize("suffix", ARCHIVES)
@pytest.mark.parametrize(
    "name", ["../../evil.xml", "/etc/evil.xml", "C:\\evil.xml", "..\\evil.xml"]
)
def test_parts_with_names_of_other_places_are_not_written(
    home: Path, sandbox: SandboxedReader, suffix: str, name: str
) -> None:
    raw = make_archive(suffix, TEXTS[suffix].format("It is hot."), **{name: f"<x>{SECRET}</x>"})

    assert "It is hot." in read(home, f"a.{suffix}", raw, sandbox)


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_a_part_that_is_a_link_is_read_as_its_own_text(
    home: Path, sandbox: SandboxedReader, suffix: str
) -> None:
    raw = make_archive(suffix, "")
    links = make_links(raw, ARCHIVES[suffix], home.parent / "secret.xml")

    assert "password" not in read(home, f"a.{suffix}", links, sandbox)


@pytest.mark.parametrize(
    "target",
    [
        "../../../secret.xml",
        "{root}/secret.xml",
        "file://{root}/secret.xml",
        "..%2f..%2fsecret.xml",
    ],
)
@pytest.mark.parametrize("suffix", ["pptx", "xlsx"])
def test_relations_do_not_lead_out_of_the_archive(
    home: Path, sandbox: SandboxedReader, suffix: str, target: str
) -> None:
    part, kind = {
        "pptx": ("ppt/_rels/presentation.xml.rels", "slide"),
        "xlsx": ("xl/_rels/workbook.xml.rels", "worksheet"),
    }[suffix]
    place = target.format(root=home.parent)
    links = f'<r><Relationship Id="a" Type="urn:x/{kind}" Target="{place}"/></r>'
    raw = make_archive(suffix, TEXTS[suffix].format("It is hot."), **{part: links})

    assert "password" not in read(home, f"a.{suffix}", raw, sandbox)


@pytest.mark.parametrize(
    "target",
    ["../../secret.xml", "{root}/secret.xml", "file://{root}/secret.xml", "%2e%2e/secret.xml"],
)
def test_chapters_do_not_lead_out_of_a_book(
    home: Path, sandbox: SandboxedReader, target: str
) -> None:
    place = target.format(root=home.parent)
    package = f'<x><item id="a" href="{place}"/><itemref idref="a"/></x>'
    container = f'<x><rootfile full-path="{place}"/><rootfile full-path="p.opf"/></x>'
    parts = {"p.opf": package, "META-INF/container.xml": container}

    assert "password" not in read(home, "a.epub", make_archive("epub", "", **parts), sandbox)


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_an_archive_in_an_archive_is_not_opened(
    home: Path, sandbox: SandboxedReader, suffix: str
) -> None:
    inner = make_archive(suffix, TEXTS[suffix].format(SECRET))
    for _ in range(5):
        parts: dict[str, object] = {f"word/embeddings/inner.{suffix}": inner, "a.zip": inner}
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, bytes(content))  # type: ignore[call-overload]
        inner = packed.getvalue()
    whole = io.BytesIO(make_archive(suffix, TEXTS[suffix].format("It is hot.")))
    with zipfile.ZipFile(whole, "a") as archive:
        archive.writestr("inner.zip", inner)

    text = read(home, f"a.{suffix}", whole.getvalue(), sandbox)

    assert "It is hot." in text
    assert "password" not in text


def test_a_gzipped_file_is_unpacked_once(home: Path, sandbox: SandboxedReader) -> None:
    raw = gzip.compress(gzip.compress(SECRET.encode()))

    assert "password" not in read(home, "a.txt.gz", raw, sandbox)
    assert "password" in read(home, "b.txt.gz", gzip.compress(SECRET.encode()), sandbox)


def test_the_name_inside_a_gzipped_file_is_ignored(home: Path, sandbox: SandboxedReader) -> None:
    packed = io.BytesIO()
    with gzip.GzipFile("../../evil.html", "wb", fileobj=packed) as file:
        file.write(b"<p>It is hot.</p>")

    assert read(home, "a.txt.gz", packed.getvalue(), sandbox) == "<p>It is hot.</p>"


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_an_archive_of_a_million_parts_is_read_or_refused(
    home: Path, sandbox: SandboxedReader, suffix: str
) -> None:
    raw = make_archive(suffix, TEXTS[suffix].format("It is hot."))
    end = raw.rindex(b"PK\5\6")
    start, size = struct.unpack("<II", raw[end + 16 : end + 20] + raw[end + 12 : end + 16])
    directory = raw[start : start + size]
    repeated = directory * 20_000
    tail = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 65_535, 65_535, len(repeated), start, 0)

    text = read(home, f"a.{suffix}", raw[:start] + repeated + tail, sandbox)

    assert "It is hot." in text or text.startswith("refused")


@pytest.mark.parametrize("suffix", ARCHIVES)
@pytest.mark.parametrize("method", [12, 14, 93, 99])
def test_other_compressions_are_refused(
    home: Path, sandbox: SandboxedReader, suffix: str, method: int
) -> None:
    raw = bytearray(make_archive(suffix, TEXTS[suffix].format("It is hot.")))
    at = -1
    while (at := raw.find(b"PK\1\2", at + 1)) >= 0:
        raw[at + 10 : at + 12] = struct.pack("<H", method)

    assert read(home, f"a.{suffix}", bytes(raw), sandbox).startswith("refused")
