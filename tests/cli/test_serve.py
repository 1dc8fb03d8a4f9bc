from pathlib import Path

from click.testing import CliRunner

from rejoinder.cli import main
from rejoinder.server.keys import read_keys


def test_a_key_is_printed_once(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"

    result = CliRunner().invoke(main, ["key", "team", "--to", str(path)])

    assert result.exit_code == 0
    assert read_keys(path).find(result.output.strip()) == "team"


def test_other_machines_are_not_let_in_by_accident() -> None:
    result = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0"])

    assert result.exit_code == 1
    assert "give --keys FILE" in result.output
    assert len(result.output.splitlines()) == 1


def test_a_bad_scorer_is_one_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["serve", "--port", "0", "--scorer", "nonsense"])

    assert result.exit_code == 1
    assert "unknown scorer 'nonsense'" in result.output


def test_a_port_in_use_is_named() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["serve", "--port", str(port)])

    assert result.exit_code == 1
    assert f"cannot listen on 127.0.0.1:{port}" in result.output
