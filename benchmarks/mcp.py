"""Time the calls of an assistant: `rejoinder mcp` over the manuals, through the SDK's own client.

Usage: python -m benchmarks.mcp --manuals FOLDER --cache FOLDER [--calls 1000] \
           --to benchmarks/results/mcp.json --page docs/mcp.md

One client at a time, over stdio and over HTTP, makes so many calls, a fifth of each tool:
`answer` with a question of the manuals' dev part, `search` with the same question, `read` of the
document of the first answer, from its paragraph on, `highlight` of what was read, and `cite` with
the first two answers, over the index.  Each round also makes one malformed call, which has to get
an error of the protocol.  The result: percentiles in milliseconds per tool, errors, malformed
calls that were answered otherwise, and the seconds until the server was ready.  Prints the table,
and writes it into a page between two marks.  5 minutes on two idle cores, with the index there.

The index is built by `benchmarks.open_corpus`'s own function where CACHE lacks it; --index gives
another one.  Needs the extra `mcp`.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from benchmarks.citing import write_page
from benchmarks.common import describe_machine, get_percentiles
from benchmarks.corpora.indexes import build_index, compute_source_digest
from benchmarks.corpora.questions import read_manual_questions
from benchmarks.highlighting import IDLE
from benchmarks.manuals.packages import fetch_manuals

TOOLS = ("answer", "search", "read", "highlight", "cite")
BEGIN, END = "<!-- benchmarks.mcp -->\n", "<!-- end of benchmarks.mcp -->"
MAX_START_SECONDS = 120
BEFORE = 500
"""Characters that are read before an answer."""
READ = 3000
"""Characters that are read, and then highlighted."""
MALFORMED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("nothing", {}),
    ("answer", {}),
    ("answer", {"question": "who?", "tops": 3}),
    ("highlight", {"question": "who?", "text": 5}),
    ("highlight", {"question": "who?", "text": "<html>Ada."}),
    ("cite", {"answer": " "}),
    ("cite", {"answer": "It is.", "sources": []}),
    ("read", {"document": "nothing"}),
)
"""Tools and arguments that get an error."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--cache", type=Path, default=Path("build"))
    parser.add_argument("--index", type=Path)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--to", type=Path)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    index = options.index or find_index(options.manuals, options.cache)
    questions = [question.text for question in read_manual_questions()]
    result: dict[str, Any] = {**describe_machine(), "load_before": os.getloadavg()[0]}
    for connect in (over_stdio, over_http):
        name = connect.__name__.removeprefix("over_")
        result[name] = asyncio.run(measure(connect(index), questions, options.calls))
    if options.to:
        options.to.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if options.page:
        write_page(options.page, render(result), BEGIN, END)
    print(render(result))


def find_index(manuals: Path, cache: Path) -> Path:
    fetch_manuals(manuals)
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / f"manuals-{compute_source_digest()}"
    build_index(folder, manuals.resolve()).close()
    return folder


@asynccontextmanager
async def over_stdio(index: Path) -> AsyncIterator[Client]:
    arguments = ["-m", "rejoinder", "mcp", str(index)]
    async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
        yield client


@asynccontextmanager
async def over_http(index: Path) -> AsyncIterator[Client]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ["-m", "rejoinder", "mcp", str(index), "--http", "--port", str(port)]
    process = subprocess.Popen([sys.executable, *arguments], stderr=subprocess.DEVNULL)
    try:
        await wait_for(port)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


async def wait_for(port: int) -> None:
    end = time.monotonic() + MAX_START_SECONDS
    while time.monotonic() < end:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return
    sys.exit("the server did not start")


async def measure(connection: Any, questions: Sequence[str], calls: int) -> dict[str, Any]:
    start = time.perf_counter()
    async with connection as client:
        await client.list_tools()
        seconds = time.perf_counter() - start
        session = Session(client)
        await session.run(questions, calls)
    every = [one for group in session.times.values() for one in group]
    return {
        "seconds_until_ready": round(seconds, 2),
        "errors": session.errors,
        "malformed": session.malformed,
        "malformed_without_error": session.unnoticed,
        "all": describe(every),
        **{name: describe(group) for name, group in session.times.items()},
    }


class Session:
    """The calls of a client: the milliseconds of each by tool, and what went wrong."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.times: dict[str, list[float]] = defaultdict(list)
        self.errors = 0
        self.malformed = 0
        self.unnoticed = 0

    async def run(self, questions: Sequence[str], calls: int) -> None:
        """Ask question after question, until so many calls are made."""
        for question in cycle(questions):
            await self._ask(question)
            await self._call_wrongly(*MALFORMED[self.malformed % len(MALFORMED)])
            if sum(map(len, self.times.values())) >= calls:
                return

    async def _ask(self, question: str) -> None:
        answers = (await self._call("answer", question=question)).get("answers")
        await self._call("search", question=question)
        if not answers:
            return
        first = max(0, answers[0]["start"] - BEFORE)
        place = {"from": first, "to": first + READ}
        part = await self._call("read", document=answers[0]["document"], **place)
        await self._call("highlight", question=question, text=part.get("text", ""))
        await self._call("cite", answer=" ".join(item["sentence"] for item in answers[:2]))

    async def _call(self, tool: str, **arguments: Any) -> Any:
        start = time.perf_counter()
        result = await self._client.call_tool(tool, arguments)
        self.times[tool].append(1000 * (time.perf_counter() - start))
        self.errors += result.is_error
        return result.structured_content or {}

    async def _call_wrongly(self, tool: str, arguments: dict[str, Any]) -> None:
        self.malformed += 1
        try:
            result = await self._client.call_tool(tool, arguments)
        except MCPError:
            return
        self.unnoticed += not result.is_error


def describe(times: Sequence[float]) -> dict[str, float]:
    return {"calls": len(times), **get_percentiles(times, 50, 95, 99)}


def render(result: Mapping[str, Any]) -> str:
    """Return the table of a page, and what it was measured with."""
    titles = {"stdio": "stdio", "http": "HTTP"}
    ways = [(title, result[name]) for name, title in titles.items()]
    heads = [f"{title}, {percent}" for title, _ in ways for percent in ("p50", "p95")]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for tool in TOOLS:
        if tool in ways[0][1]:
            cells = [f"{way[tool][key]:.0f}" for _, way in ways for key in ("p50_ms", "p95_ms")]
            lines.append(f"| `{tool}` | {' | '.join(cells)} |")
    calls = " and ".join(f"{way['all']['calls']:,} calls over {title}" for title, way in ways)
    ready = ", ".join(f"{way['seconds_until_ready']:.1f} s over {title}" for title, way in ways)
    errors = sum(way["errors"] for _, way in ways)
    is_idle = result.get("load_before", IDLE) < IDLE
    state = "which were idle" if is_idle else "which other jobs kept busy"
    wrong = sum(way.get("malformed", 0) for _, way in ways)
    unnoticed = sum(way.get("malformed_without_error", 0) for _, way in ways)
    refused = f" Of {wrong:,} malformed calls {wrong - unnoticed:,} got an error." if wrong else ""
    return "\n".join(
        [
            *lines,
            "",
            f"Milliseconds as the client sees them; {calls}, one after the other; {errors} errors;"
            f" {result['cores']} cores, {state}.{refused} Until the server is ready: {ready}.",
            "",
        ]
    )


if __name__ == "__main__":
    main()
