"""The search engines that tests of retrieval use, and an index that is exported to each."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from tests.retrieval.search_servers import LIGHT, search_server
from tests.retrieval.servers import postgres_server, qdrant_server

from rejoinder.index.index import Index
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import export_index
from rejoinder.retrieval.remote import RemoteIndex

TEA = """# Green tea

Green tea is brewed at 75 °C. Boiling water makes it bitter. Who drinks it? Most people do.

## Storage

- In a tin it keeps for a year.
- In paper it keeps for a month.

Light and air spoil the leaves of every tea.
"""
BEES = """# Bees

A colony has one queen. Bees dance to tell where food is.

Light and air spoil the leaves of every tea.
"""
CAVES = "Glacier caves are formed by meltwater. A cave is cold.\n"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture(scope="session")
def qdrant() -> Iterator[str]:
    with qdrant_server() as url:
        yield url


@pytest.fixture(scope="session")
def opensearch() -> Iterator[str]:
    """The light one, which searches words only."""
    with search_server(LIGHT) as url:
        yield url


@pytest.fixture(scope="session", params=["postgresql", "qdrant", "opensearch"])
def pattern(request: pytest.FixtureRequest) -> str:
    """The URL of a running engine, with `{name}` for the name of an index."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture
def url(pattern: str) -> str:
    """A URL that nothing was exported to."""
    return pattern.format(name=f"t{uuid4().hex[:12]}")


def write_documents(folder: Path) -> Path:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "tea.md").write_text(TEA, encoding="utf-8")
    (folder / "deep" / "bees.md").write_text(BEES, encoding="utf-8")
    (folder / "deep" / "er" / "caves.txt").write_text(CAVES, encoding="utf-8")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index(tmp_path / "index", create=True) as made:
        made.add([write_documents(tmp_path / "docs")])
        yield made


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of this project's own documentation."""
    with Index(tmp_path_factory.mktemp("library"), create=True) as made:
        made.add([Path(__file__).parents[2] / "docs" / "decisions"], metadata={"kind": "decision"})
        made.add([Path(__file__).parents[2] / "docs" / "models"], metadata={"kind": "page"})
        yield made


@pytest.fixture(scope="session")
def loaded(pattern: str, library: Index) -> Iterator[RemoteIndex]:
    """That index in an engine; tests only read it."""
    url = pattern.format(name=f"t{uuid4().hex[:12]}")
    export_index(library, url)
    with open_retriever(url) as opened:
        yield opened
