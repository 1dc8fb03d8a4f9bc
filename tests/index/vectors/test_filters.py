"""Which documents a question may search, after additions, removals and a restored backup."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from rejoinder.index.index import Index
from rejoinder.index.vectors import filters as filters_module
from rejoinder.index.vectors.filters import DocumentFilters
from rejoinder.types import Document, Where
from tests.index.conftest import PIECES

WHERE: Where = {"kind": "drink"}


def make_document(name: str, kind: str) -> Document:
    return Document(name, name, (f"This is {name}.",), metadata={"kind": kind})


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index(tmp_path / "index", create=True, tokenizer=PIECES)
    index.add_documents([make_document("tea", "drink"), make_document("bees", "animal")])
    return index


def list_allowed(filters: DocumentFilters, where: Where | None) -> list[int]:
    allowed: list[int] = np.flatnonzero(filters.get(where)).tolist()
    return allowed


def test_additions_and_removals_are_followed(index: Index) -> None:
    filters = DocumentFilters(index.store)
    assert [list_allowed(filters, where) for where in (None, WHERE)] == [[1, 2], [1]]

    index.add_documents([make_document("ice", "water"), make_document("milk", "drink")])
    assert [list_allowed(filters, where) for where in (None, WHERE)] == [[1, 2, 3, 4], [1, 4]]

    index.remove_document("tea")
    index.add_documents([make_document("cola", "drink"), make_document("milk", "food")])
    assert [list_allowed(filters, where) for where in (None, WHERE)] == [[2, 3, 5, 6], [5]]


def test_a_replaced_document_counts_once(index: Index) -> None:
    filters = DocumentFilters(index.store)
    filters.get(None)

    index.add_documents([make_document("tea", "drink")])

    assert list_allowed(filters, None) == [2, 3]


def test_a_restored_backup_is_read_as_a_whole(index: Index, tmp_path: Path) -> None:
    index.close()
    shutil.copytree(index.folder, tmp_path / "backup")
    with Index(index.folder, tokenizer=PIECES) as changed:
        changed.add_documents([make_document("tea", "drink")])
        filters = DocumentFilters(changed.store)
        filters.get(None)
    with Index(tmp_path / "backup", tokenizer=PIECES) as restored:
        filters._store = restored.store

        assert list_allowed(filters, None) == [1, 2]


def test_the_filters_that_were_used_last_are_remembered(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters_module, "MAX_FILTERS", 2)
    filters = DocumentFilters(index.store)
    for kind in ("drink", "animal", "water"):
        filters.get({"kind": kind})

    assert list(filters._known) == ['{"kind": "animal"}', '{"kind": "water"}']
