import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rejoinder.cli import main
from rejoinder.cli.main import MODULES


def walk(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk(below, (*path, name))


PATHS = list(walk(main))


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_help_page_shows_a_call(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*path, "--help"])

    assert result.exit_code == 0
    assert f"\n  Example:\n      rejoinder {' '.join(path)}" in result.stdout


def test_the_help_of_the_group_matches_the_commands() -> None:
    context = click.Context(main)
    for name in MODULES:
        command = main.get_command(context, name)
        assert command is not None
        assert command.name == name


def test_a_closed_pipe_is_not_an_error() -> None:
    command = f"{sys.executable} -m rejoinder data list | head -n 1"

    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], check=False, capture_output=True, text=True
    )

    assert result.stderr == ""
    assert result.returncode == 0


def test_the_module_runs_like_the_command() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "rejoinder", "--version"],
        check=False,
        capture_output=True,
        text=True,
    )

    assert result.stdout.startswith("rejoinder, version ")


def test_examples_of_help_pages_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    context = click.Context(main)
    for name in ("ask", "rank", "evaluate", "compare"):
        command = main.get_command(context, name)
        assert command is not None
        call = (command.epilog or "").split("rejoinder ", 1)[1].splitlines()[0]

        result = subprocess.run(
            f"{sys.executable} -m rejoinder {call}", shell=True, check=False, capture_output=True
        )

        assert result.returncode == 0, result.stderr
        assert result.stdout
