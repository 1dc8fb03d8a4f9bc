"""Documents whose files change: each sentence names its document and its edition.

An index that follows finds a document in one edition, by words and by vectors.
"""

from pathlib import Path

from rejoinder.index.index import Index
from rejoinder.text.wordpiece import WordPiece
from tests.index.digests import Digests

PIECES = WordPiece(["[UNK]"])
SENTENCES = 40
FIRST = 5
"""Documents that may be there before the first rows of a sidecar are."""
FOUND = 10

Editions = dict[str, str]
"""The edition of each document, by its name."""


def make_text(path: Path, edition: str, sentences: int = SENTENCES) -> str:
    """Return the text of an edition of a document."""
    return f"{_make_sentence(path, edition)} " * sentences


def replace_file(path: Path, text: str) -> None:
    """Replace a file in one step, so that nobody reads half of it."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def read_edition(index: Index, name: str) -> str:
    """Return the edition that is stored of a document; fail if there are two."""
    document = index.get_document(name)
    assert document is not None, f"{name} is missing"
    texts = set(document.sentences)
    assert len(texts) == 1, f"{name} holds {texts}"
    return get_edition(texts.pop())


def get_edition(text: str) -> str:
    """Return the edition that a sentence, or a whole text, is of."""
    return text.rstrip(". ").rpartition(" of")[2]


def find_problem(index: Index, name: str, edition: str) -> str:
    """Return why a document is not found in this edition alone; empty if it is."""
    path = Path(name)
    text = _make_sentence(path, edition)
    found = {hit.candidate.text for hit in index.search(text, FOUND)}
    own = {other for other in found if other.startswith(_make_beginning(path))}
    if own != {text}:
        return f"{name} of {edition} is found by its words as {own or None}"
    nearest = index.vectors.search(text.lower().rstrip("."), 1, None)
    with index.store.reading_sentences(nearest) as rows:
        close = [row.text for row in rows]
    return "" if close == [text] else f"{name} of {edition} is found by its vectors as {close}"


def check_rows(index: Index) -> None:
    """Let stored rows follow, as who opens an index does, and hold them against new ones."""
    maker = Digests()
    found = index.open_sidecar(maker)
    documents = index.store.get_documents()
    assert found is not None or len(documents) < FIRST, "the rows are gone"
    for document in documents if found else []:
        made = index.sidecars.encode(maker, document)
        assert found is not None
        kept = found.store.find_document(document.id)
        assert kept is not None, f"{document.name} has no rows"
        assert kept.tobytes() == b"".join(rows.tobytes() for rows in made), document.name


def _make_sentence(path: Path, edition: str) -> str:
    return f"{_make_beginning(path)}holds the text of{edition}."


def _make_beginning(path: Path) -> str:
    return f"Document doc{path.stem} "
