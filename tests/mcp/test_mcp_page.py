"""What docs/mcp.md shows is what a client gets."""

import asyncio
import re
import tomllib
from json import loads
from pathlib import Path

from benchmarks.citing import write_page
from benchmarks.mcp import BEGIN, END, measure, over_http, over_stdio, render
from benchmarks.mcp import TOOLS as TIMED
from msgspec.structs import fields

from rejoinder.cli.ranking.mcp import mcp
from rejoinder.index.index import Index
from rejoinder.mcp.tools import TOOLS
from rejoinder.mcp.transports import open_engine
from rejoinder.server.settings import Settings
from tests.mcp.test_tools import call, text_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/mcp.md").read_text(encoding="utf-8")


def test_the_answer_on_the_page_is_what_a_client_gets(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)
    settings = Settings(index=tmp_path / "index")
    with Index(tmp_path / "index", create=True) as index:
        index.add([ROOT / "examples/docs"])

    with open_engine(settings, writable=False) as engine:
        result = call(engine, settings, "answer", question="how are glacier caves formed?", top=1)

    assert text_of(result).replace(str(ROOT), "/home/me") == shown


def test_the_configurations_on_the_page_can_be_read() -> None:
    blocks = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (codex,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    servers = [servers["documents"] for block in blocks for servers in loads(block).values()]
    servers += [servers["documents"] for servers in tomllib.loads(codex).values()]

    assert len(servers) == 4
    assert {tuple(server["args"]) for server in servers} == {("mcp", "/home/me/my-index")}


def test_the_page_has_every_tool_and_argument() -> None:
    table = PAGE.partition("## Tools")[2].partition("## Resources")[0]
    for tool in TOOLS:
        (row,) = re.findall(rf"^\| `{tool.name}` \| (.*?) \|", table, re.MULTILINE)
        names = [field.encode_name for field in fields(tool.takes)]
        assert re.findall(r"`(\w+)`", row) == names


def test_the_help_names_every_tool() -> None:
    help = mcp.help or ""

    assert [tool.name for tool in TOOLS if not re.search(rf"\b{tool.name}\b", help)] == []


def test_the_times_on_the_page_are_those_of_the_results(tmp_path: Path) -> None:
    result = loads((ROOT / "benchmarks/results/mcp.json").read_text(encoding="utf-8"))
    copy = tmp_path / "page.md"
    copy.write_text(PAGE.partition(BEGIN)[0] + BEGIN + END + PAGE.partition(END)[2], "utf-8")

    write_page(copy, render(result), BEGIN, END)

    assert copy.read_text(encoding="utf-8") == PAGE
    for way in ("stdio", "http"):
        assert result[way]["all"]["calls"] >= 1000
        assert result[way]["all"]["p50_ms"] < 150
        assert result[way]["errors"] == result[way].get("malformed_without_error", 0) == 0


def test_every_transport_is_measured_with_every_tool(tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add([ROOT / "examples/docs"])
    questions = ["how are glacier caves formed?"]

    for connect in (over_stdio, over_http):
        found = asyncio.run(measure(connect(tmp_path / "index"), questions, 5))
        assert all(found[name]["calls"] == 1 for name in TIMED)
        assert found["all"]["calls"] == 5
        assert (found["errors"], found["malformed"], found["malformed_without_error"]) == (0, 1, 0)
