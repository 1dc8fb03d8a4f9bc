"""Documents that several processes load into real search engines, without an index."""

import pytest

from rejoinder.documents.reading import convert_document
from rejoinder.errors import StoreError
from rejoinder.index.index import load_tokenizer
from rejoinder.models.registry import open_sentence_encoder
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import TABLE, make_schema
from rejoinder.retrieval.load import RevisedDocument, load_documents
from rejoinder.retrieval.remote import RemoteIndex
from rejoinder.types import Document

NAMES = ("tea", "bees", "caves")


def make(name: str, *sentences: str, revision: str = "1") -> RevisedDocument:
    document = Document(name, name.title(), sentences or (f"All about {name}.", f"No {name}."))
    return RevisedDocument(convert_document(document, {}), revision)


def read_texts(remote: RemoteIndex) -> dict[str, str]:
    ids = [f"{name}#{position}" for name in NAMES for position in range(4)]
    return {record.id: record.text for record in remote.fetch(ids, [], 60)}


def test_documents_are_stored_once_and_replaced(url: str) -> None:
    pieces = load_tokenizer()
    with open_retriever(url) as remote:
        remote.create(make_schema(TABLE, open_sentence_encoder()))
        assert load_documents(remote, [make(name) for name in NAMES], pieces) == 3
        assert load_documents(remote, [make(name) for name in NAMES], pieces) == 0
        remote.finish()
        first = read_texts(remote)
        assert first["bees#1"] == "No bees."
        assert len(first) == 6
        hit = remote.search("what is about bees?", 1)[0].candidate
        assert hit.id == "bees#0"

        remote.put_revisions({"caves": ""})  # a writer was killed here
        changed = make("tea", "Tea is hot.", revision="2")
        assert load_documents(remote, [changed, make("caves"), make("bees")], pieces) == 2
        remote.finish()
        texts = read_texts(remote)
        assert texts.pop("tea#0") == "Tea is hot."
        assert texts == {key: text for key, text in first.items() if not key.startswith("tea")}
        assert remote.get_revisions(["tea", "caves", "none"]) == {"tea": "2", "caves": "1"}
        assert remote.get_revisions() == {"tea": "2", "caves": "1", "bees": "1"}
        assert remote.get_revisions([]) == {}


def test_an_index_is_created_before(url: str) -> None:
    with open_retriever(url) as remote, pytest.raises(StoreError, match="there is no index"):
        load_documents(remote, [make("tea")], load_tokenizer())
