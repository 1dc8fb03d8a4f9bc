"""Documents as resources."""

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from rejoinder.engine.engine import Engine
from rejoinder.errors import InputError
from rejoinder.index.index import Index
from rejoinder.mcp.resources import MAX_RESOURCE, PAGE_SIZE, make_uri, parse_uri
from rejoinder.mcp.transports import open_engine
from rejoinder.server.settings import Settings
from rejoinder.types import Document
from tests.mcp.conftest import name_of
from tests.mcp.test_tools import MODES, run


@pytest.mark.parametrize(
    "name", ["tea.md", "/a b/c?d#e%20/ü.md", "uploaded:x/y.md", "..", "?from=3"]
)
@pytest.mark.parametrize("start", [0, 17])
def test_uris_lead_back_to_their_document(name: str, start: int) -> None:
    assert parse_uri(make_uri(name, start)) == (name, start)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "file:///etc/passwd",
        "rejoinder://documents/",
        "rejoinder://documents/a/b",
        "rejoinder://documents/a?from=-1",
        "rejoinder://documents/a?from=" + "9" * 100,
        "rejoinder://documents/a#b",
    ],
)
def test_other_uris_are_refused(uri: str, engine: Engine, settings: Settings) -> None:
    with pytest.raises(InputError):
        parse_uri(uri)
    with pytest.raises(MCPError, match="is not the URI of a document") as raised:
        run(engine, settings, lambda client: client.read_resource(uri))
    assert raised.value.code == types.INVALID_PARAMS


@pytest.mark.parametrize("mode", MODES)
def test_every_document_is_listed_and_read(engine: Engine, settings: Settings, mode: str) -> None:
    async def work(client: Client) -> dict[str, Any]:
        listed = await client.list_resources()
        assert listed.next_cursor is None
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == [
            "rejoinder://documents/{document}{?from}"
        ]
        return {
            one.name: (one, (await client.read_resource(one.uri)).contents[0])
            for one in listed.resources
        }

    found = run(engine, settings, work, mode=mode)

    tea, contents = found[name_of(engine.index.folder, "tea.md")]
    assert {Path(name).name for name in found} == {"tea.md", "bees.txt", "river.txt", "hostile.txt"}
    assert (tea.title, tea.mime_type) == ("Green tea", "text/plain")
    assert "Green tea is brewed at 75 °C." in contents.text
    assert contents.uri == tea.uri


def test_a_long_document_says_where_it_goes_on(engine: Engine, settings: Settings) -> None:
    name = name_of(engine.index.folder, "river.txt")

    async def work(client: Client) -> str:
        text, uri = "", make_uri(name)
        while uri:
            first, *rest = (await client.read_resource(uri)).contents
            assert isinstance(first, types.TextResourceContents)
            assert len(first.text) <= MAX_RESOURCE
            text += first.text
            uri = rest[0].uri if rest else ""
        return text

    text = run(engine, settings, work)

    with Index(engine.index.folder) as index:
        document = index.get_document(name)
        assert document
        assert text == index.get_text(document)
        assert len(text) > MAX_RESOURCE


def test_an_unknown_document_is_an_error(engine: Engine, settings: Settings) -> None:
    with pytest.raises(MCPError, match="the index has no document 'x'") as raised:
        run(engine, settings, lambda client: client.read_resource(make_uri("x")))

    assert raised.value.code == types.INVALID_PARAMS


def test_many_documents_are_listed_page_by_page(tmp_path: Path) -> None:
    count = 2 * PAGE_SIZE + 1
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents(Document(f"d{n}", text=f"Tea {n} is hot.") for n in range(count))
    settings = Settings(index=tmp_path / "index", scorer="jaccard")

    async def work(client: Client) -> list[str]:
        page = await client.list_resources()
        names, sizes = [one.name for one in page.resources], [len(page.resources)]
        while page.next_cursor:
            page = await client.list_resources(cursor=page.next_cursor)
            names += [one.name for one in page.resources]
            sizes.append(len(page.resources))
        assert sizes == [PAGE_SIZE, PAGE_SIZE, 1]
        return names

    with open_engine(settings, writable=False) as engine:
        names = run(engine, settings, work)

    assert names == [f"d{n}" for n in range(count)]
