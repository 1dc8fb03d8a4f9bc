"""Reads one file, of any known format, into documents."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from rejoinder.documents import formats
from rejoinder.documents.blocks import Block, ExtractedDocument, fold, sanitize
from rejoinder.documents.discovery import show_path, stat_file
from rejoinder.documents.encoding import decode
from rejoinder.documents.parsed import ParsedDocument, SegmentedBlock, Sentence
from rejoinder.documents.sandbox import SandboxedReader
from rejoinder.documents.segment import MAX_BLOCK, segment
from rejoinder.errors import InputError
from rejoinder.types import Document


def read_file(
    path: Path, *, sandbox: SandboxedReader, name: str | None = None
) -> Iterator[ParsedDocument]:
    """Yield the documents of a file: one, or one per row of a table or message of a mailbox.

    Each is read as a stream: its blocks must be read before the next document, and reading
    them may find that the file is broken.  The title is the one that the file gives, else its
    first heading where it begins with one, else the file's name.  In document ids and errors
    the file is called `name`, or by its path.
    """
    shown = name or show_path(path)
    stem = Path(shown.removesuffix(".gz")).stem
    with _naming(shown):
        stat_file(path)
        seen: dict[str, int] = {}
        for extracted in _extract(path, sandbox):
            row = extracted.row
            seen[row] = seen.get(row, 0) + 1
            if seen[row] > 1:
                row = f"{row}~{seen[row]}"  # tells rows of the same name apart
            parsed = parse_document(
                f"{shown}#{row}" if row else shown,
                f"{stem} {row}" if row else stem,
                extracted,
                is_record=bool(row),
            )
            yield ParsedDocument(
                parsed.name, parsed.title, _name_errors(parsed.blocks, shown), parsed.metadata
            )


def read_text_file(path: Path, *, sandbox: SandboxedReader) -> tuple[str, str]:
    """Return the title and the whole text of a file.

    Plain text and markup are returned as they are in the file, without a title; of other formats
    the content is extracted.
    """
    format_ = _get_format(path)
    is_plain = format_ == "text" or format_.startswith("markup.")
    if is_plain and path.suffix.lower() != ".gz":
        with _naming(show_path(path)):
            stat_file(path)
            return "", decode(path.read_bytes())
    titles, texts = list[str](), list[str]()
    for document in read_file(path, sandbox=sandbox):
        titles.append(document.title)
        texts.append("".join(f"{block.gap}{block.text}" for block in document.blocks))
    return titles[0] if len(titles) == 1 else "", "\n\n".join(texts)


def prefetch_file(path: Path, *, sandbox: SandboxedReader) -> None:
    """Begin to read a file that `read_file` reads next, if the sandbox reads it."""
    format_ = _get_format(path)
    if _is_sandboxed(path, format_):
        sandbox.prefetch(path, format_)


def parse_document(
    name: str, fallback: str, extracted: ExtractedDocument, *, is_record: bool
) -> ParsedDocument:
    """Split a document into sentences.

    Args:
        fallback: the title where there is no other.
        is_record: it is a row or comes from memory, so that its only sentence may answer,
            however short it is.
    """
    blocks = iter(extracted.blocks)
    title = fold(extracted.title)
    first = list[Block]()
    if not title and (block := next(blocks, None)):
        first = [block]
        title = fold(block.text) if block.kind == "heading" else ""
    segmented = segment(chain(first, blocks))
    if is_record:
        segmented = _offer_lone(segmented)
    return ParsedDocument(
        name, sanitize(title or fallback)[: formats.MAX_TITLE], segmented, extracted.metadata
    )


def _offer_lone(blocks: Iterator[SegmentedBlock]) -> Iterator[SegmentedBlock]:
    """Yield the blocks; a sentence that is the whole document may answer."""
    first, second = next(blocks, None), next(blocks, None)
    if first and not second and len(first.sentences) == 1:
        first = first._replace(sentences=(first.sentences[0]._replace(may_answer=True),))
    yield from filter(None, (first, second))
    yield from blocks


def convert_document(document: Document, metadata: Mapping[str, str]) -> ParsedDocument:
    """Return a document from memory in the form of a file's; its own sentences are kept."""
    id_, title = document.id, sanitize(document.title)
    if not id_ or sanitize(id_) != id_:
        raise InputError(f"document {id_!r}: the id must be text without control characters")
    if not document.sentences and not document.text:
        raise InputError(f"document {id_!r} has neither text nor sentences")
    merged = {**document.metadata, **metadata}
    values = {sanitize(str(key)): sanitize(str(value)) for key, value in merged.items()}
    if not document.sentences:
        from rejoinder.documents.formats.text import read_text

        extracted = ExtractedDocument(title, read_text(document.text), metadata=values)
        return parse_document(id_, id_, extracted, is_record=True)
    texts = [fold(sanitize(given)) for given in document.sentences]
    if "" in texts:
        raise InputError(f"document {id_!r}: sentence {texts.index('')} is empty")
    return ParsedDocument(id_, title or id_, list(_to_blocks(texts)), values)


def _to_blocks(texts: list[str]) -> Iterator[SegmentedBlock]:
    """Yield blocks of given sentences, which all may answer."""
    start, sentences, size = 0, list[Sentence](), 0
    number = 0
    for position, text in enumerate(texts):
        if sentences and size + len(text) > MAX_BLOCK:
            yield _make_block(number, sentences)
            number, sentences, size = number + 1, [], 0
        sentences.append(Sentence(position, text, start, start + len(text), block=number))
        start += len(text) + 1
        size += len(text) + 1
    yield _make_block(number, sentences)


def _make_block(number: int, sentences: list[Sentence]) -> SegmentedBlock:
    text = "\n".join(sentence.text for sentence in sentences)
    gap = "\n" if number else ""
    start = sentences[0].start
    return SegmentedBlock(number, "paragraph", text, (), "", gap, start, tuple(sentences))


def _extract(path: Path, sandbox: SandboxedReader) -> Iterator[ExtractedDocument]:
    format_ = _get_format(path)
    if _is_sandboxed(path, format_):
        yield from sandbox.read(path, format_)
        return
    with path.open("rb") as file:
        yield from formats.read(file, format_)


def _get_format(path: Path) -> str:
    _, format_ = formats.find_format(path.name) or ("", formats.UNNAMED)
    return format_


def _is_sandboxed(path: Path, format_: str) -> bool:
    return format_ not in formats.SAFE or path.suffix.lower() == ".gz"


def _name_errors(blocks: Iterable[SegmentedBlock], name: str) -> Iterator[SegmentedBlock]:
    with _naming(name):
        yield from blocks


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Put the file's name before errors."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(f"{name}: "):
            raise
        raise InputError(f"{name}: {error}") from error
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from error
