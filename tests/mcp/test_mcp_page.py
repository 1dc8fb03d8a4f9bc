"""What docs/mcp.md shows is what a client gets."""

import re
import tomllib
from json import loads
from pathlib import Path

from msgspec.structs import fields

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
