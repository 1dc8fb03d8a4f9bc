from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from rejoinder.cli import main
from rejoinder.index.index import Index
from rejoinder.server.security import read_keys
from rejoinder.server.settings import Settings


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


def test_unknown_provider_is_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["serve", "--port", "0", "--provider", "gpu"])

    assert result.exit_code == 1
    assert "unknown execution provider 'gpu'" in result.output


def test_new_index_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(settings: Settings, *, on_ready: Callable[[str], None]) -> None:
        assert settings.index
        Index(settings.index, create=True).close()
        on_ready("http://here")

    monkeypatch.setattr("rejoinder.server.serve.serve", start)
    place = tmp_path / "typo"

    first, second = (CliRunner().invoke(main, ["serve", str(place)]) for _ in range(2))

    notice = f"created a new, empty index in {place}\n"
    assert first.output == f"{notice}serving {place} at http://here\n"
    assert second.output == f"serving {place} at http://here\n"


def test_a_port_in_use_is_named() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["serve", "--port", str(port)])

    assert result.exit_code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in result.output
