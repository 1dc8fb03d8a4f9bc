"""Documents that are added from memory, listed, and removed by id."""

from pathlib import Path

import pytest

from rejoinder.documents.reading import convert_document
from rejoinder.errors import InputError
from rejoinder.index import batch
from rejoinder.index.index import Index
from rejoinder.index.sqlite.document_writer import DocumentWriter
from rejoinder.types import Document
from tests.index.conftest import PIECES

CATS = Document("pets/cats", "Cats", text="# Cats\n\nCats can purr loudly. They\nsleep a lot.")
DOGS = Document("pets/dogs", "Dogs", sentences=["Dogs  bark.", "They run\nfar."])


def find(index: Index, question: str, **where: str) -> list[str]:
    return [item.candidate.text for item in index.search(question, 9, where=where)]


def test_a_text_is_split_and_sentences_are_kept(index: Index) -> None:
    assert index.add_documents([CATS, DOGS]) == 2

    assert find(index, "purr")[0] == "Cats can purr loudly."
    assert find(index, "bark")[0] == "Dogs bark."
    cats, dogs = index.documents()[-2:]
    assert list(cats.sentences) == ["Cats", "Cats can purr loudly.", "They sleep a lot."]
    assert list(dogs.sentences) == ["Dogs bark.", "They run far."]
    assert (cats.id, cats.title) == ("pets/cats", "Cats")
    assert index.get_text(cats) == CATS.text
    assert index.get_text(dogs) == "Dogs bark.\nThey run far."
    assert index.check() == []


def test_a_candidate_of_memory_has_a_source(index: Index) -> None:
    index.add_documents([CATS, DOGS])

    (cats,) = index.search("sleep", 1)
    (dogs,) = index.search("far", 1)

    sources = [index.locate(hit.candidate) for hit in (cats, dogs)]
    assert [(source.document, source.line) for source in sources if source] == [
        ("pets/cats", 3),
        ("pets/dogs", None),
    ]
    for source, document in zip(sources, index.documents()[-2:], strict=True):
        assert source
        text = index.get_text(document)[source.start : source.end]
        assert " ".join(text.split()) in {cats.candidate.text, dogs.candidate.text}


def test_the_same_id_replaces(index: Index) -> None:
    index.add_documents([CATS, DOGS])
    before = index.count()

    index.add_documents([Document("pets/cats", text="Cats meow.")])

    assert find(index, "purr sleep") == []
    assert find(index, "meow") == ["Cats meow."]
    assert index.count().documents == before.documents
    assert [item.title for item in index.documents()][-1] == "pets/cats"
    assert index.check() == []


def test_of_one_id_given_twice_the_last_document_stays(index: Index) -> None:
    assert index.add_documents([CATS, Document(CATS.id, text="Cats meow.")]) == 2

    assert find(index, "cats") == ["Cats meow."]
    assert index.check() == []


def test_a_file_and_a_document_of_its_path_replace_each_other(index: Index, docs: Path) -> None:
    path = str(docs / "tea.md")
    index.add_documents([Document(path, text="Tea is always cold.")])
    assert find(index, "tea") == ["Tea is always cold."]

    assert index.add([docs]).files == {"unchanged": 1, "added": 1}
    assert find(index, "cold") == []
    assert find(index, "hot")[0] == "Tea is always hot."


def test_files_leave_documents_of_memory_alone(index: Index, docs: Path) -> None:
    index.add_documents([CATS])

    index.add([docs])
    index.remove([docs])

    assert [item.id for item in index.documents()] == ["pets/cats"]


def test_metadata_filters_and_overrides(index: Index) -> None:
    own = Document("a", text="Cats purr.", metadata={"team": "own", "lang": "en"})

    index.add_documents([own, DOGS], metadata={"team": "red"})

    assert find(index, "purr", team="red", lang="en") == ["Cats purr."]
    assert find(index, "purr", team="own") == []
    assert find(index, "bark", team="red")[0] == "Dogs bark."
    assert index.documents()[-2].metadata == {"team": "red", "lang": "en"}


def test_documents_are_committed_in_batches(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MAX_BATCH_SENTENCES", 2)
    before = index.count().documents
    good = [
        Document(str(number), text="It is raining here. It is pouring there.")
        for number in range(4)
    ]

    with pytest.raises(InputError, match="document '': the id must be text"):
        index.add_documents([*good, Document("", text="It snows.")])

    assert index.count().documents == before + 4
    assert index.check() == []


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (Document("a"), "document 'a' has neither text nor sentences"),
        (Document("a", sentences=["It rains.", " \n"]), "document 'a': sentence 1 is empty"),
        (Document("a\x00", text="It rains."), "the id must be text without control characters"),
        (Document("a\udc80", text="It rains."), "the id must be text without control characters"),
    ],
)
def test_a_document_that_cannot_be_stored_is_named(
    index: Index, document: Document, problem: str
) -> None:
    before = index.count()

    with pytest.raises(InputError, match=problem):
        index.add_documents([document])

    assert index.count() == before


def test_characters_that_are_not_text_are_replaced(index: Index) -> None:
    index.add_documents([Document("a", "T\x1b", ["Cats \x1b purr.", "Dogs\udc80 bark."])])

    document = index.documents()[-1]
    assert document.title == "T "
    assert list(document.sentences) == ["Cats purr.", "Dogs\ufffd bark."]
    assert index.check() == []


def test_a_document_is_removed_by_its_id(index: Index, docs: Path) -> None:
    index.add_documents([CATS, DOGS])

    assert index.remove_document("pets/cats") == "pets/cats"
    assert index.remove_document("pets/cats") is None
    assert index.remove_document(str(docs / "tea.md")) == str(docs / "tea.md")

    assert [Path(item.id).name for item in index.documents()] == ["bees.txt", "dogs"]
    assert find(index, "purr hot") == []
    assert index.check() == []


def test_documents_of_another_index_are_copied(index: Index, tmp_path: Path) -> None:
    with Index(tmp_path / "copy", create=True, tokenizer=PIECES) as copy:
        copy.add_documents(index.documents())

        assert copy.count().sentences == index.count().sentences
        assert find(copy, "hot")[0] == "Tea is always hot."
        assert [item.metadata["suffix"] for item in copy.documents()] == [".txt", ".md"]


def test_a_folder_may_be_named_by_a_string(tmp_path: Path, docs: Path) -> None:
    with Index(str(tmp_path / "index"), create=True, tokenizer=PIECES) as index:
        report = index.add([str(docs)])

        assert report.files == {"added": 2}
        assert report.sentences == index.count().sentences
        assert index.remove([str(docs / "tea.md")]).files == {"removed": 1}


def test_blocks_are_tokenized_once_while_they_are_stored(index: Index) -> None:
    document = convert_document(DOGS, {})
    with index.store.changing() as generation:
        writer = DocumentWriter.begin(index.store, b"dogs", document, PIECES.encode, generation)
        ((path, sentences),) = writer.write(document.blocks)
        stored = writer.finish()

    assert path == ()
    assert [sentence.tokens for sentence in sentences] == list(map(PIECES.encode, DOGS.sentences))
    assert index.store.get_sentences(stored.id) == sentences
