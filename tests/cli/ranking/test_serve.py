import json
import re
from pathlib import Path

import httpx2 as httpx
from click.testing import CliRunner
from tests.server.running import serving
from tests.terminal import CTRL_C, on_terminal

from rejoinder.cli import main
from rejoinder.server.security import read_keys


def test_a_key_is_printed_once(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"

    result = CliRunner().invoke(main, ["key", "team", "--to", str(path)])

    assert result.exit_code == 0
    assert read_keys(path).find(result.output.strip()) == "team"


def test_public_host_needs_keys() -> None:
    result = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0"])

    assert result.exit_code == 1
    assert "give --keys FILE" in result.output
    assert len(result.output.splitlines()) == 1


def test_unknown_scorer_is_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["serve", "--port", "0", "--scorer", "nonsense"])

    assert result.exit_code == 1
    assert "unknown scorer 'nonsense'" in result.output


def test_a_confidence_reaches_the_workers(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        main, ["serve", "--port", "0", "--scorer", "bm25", "--min-confidence", "0.5"]
    )

    assert result.exit_code == 1
    assert "min_confidence needs a confidence, and bm25 has none" in result.output


def test_unknown_provider_is_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["serve", "--port", "0", "--provider", "gpu"])

    assert result.exit_code == 1
    assert "unknown execution provider 'gpu'" in result.output


def test_a_terminal_shows_words(tmp_path: Path) -> None:
    arguments = ("serve", "new", "--port", "0", "--workers", "1", "--scorer", "bm25")
    with on_terminal(*arguments, folder=tmp_path) as terminal:
        terminal.wait_for("created a new, empty index in new\n")
        terminal.wait_for("serving new at http://")
        terminal.wait_for(" (open it in a browser; Ctrl-C stops the server)\n")
        address = re.findall(r"http://\S+", terminal.shown)[0]
        httpx.get(f"{address}/v1/documents")
        terminal.wait_for(" ms  GET /v1/documents\n")
        httpx.get(f"{address}/v1/documents/7")
        terminal.wait_for("404")
        terminal.wait_for(" ms  GET /v1/documents/{id}\n")
        terminal.type(CTRL_C)
        terminal.wait_for("stopping after all accepted requests are answered")

        assert terminal.wait() == 0
    assert '{"' not in terminal.shown


def test_elsewhere_every_line_is_json(tmp_path: Path) -> None:
    place = tmp_path / "typo"
    with serving(tmp_path, str(place), "--scorer", "bm25") as server:
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]

    assert [line["message"] for line in lines] == [
        f"created a new, empty index in {place}",
        f"serving {place} at {server.address}",
    ]


def test_a_port_in_use_is_named() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["serve", "--port", str(port)])

    assert result.exit_code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in result.output
