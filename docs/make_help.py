"""Write docs/command-line.md from the help of the commands.

Usage: python docs/make_help.py [--check]
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rejoinder.cli import main

PAGE = Path(__file__).with_name("command-line.md")
INTRODUCTION = """# The command line

Results go to stdout, messages to stderr; `--json` prints JSON, and `--format` tables as CSV or
LaTeX, too.  The exit status is 0, 1 (a user error, with one line on stderr) or 2 (wrong usage).
`python docs/make_help.py` generates this page.
"""


def make_page() -> str:
    """Return the help of every command, in the order of the command list."""
    sections = [
        f"## {context.command_path}\n\n```text\n{context.get_help()}\n```\n"
        for context in walk(main, make_context(main, None, "rejoinder"))
    ]
    return "\n".join([INTRODUCTION, *sections])


def walk(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    """Yield the context of a command and of all commands below it."""
    context.terminal_width = 88
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk(below, make_context(below, context, name))


def make_context(command: click.Command, parent: click.Context | None, name: str) -> click.Context:
    """Return the context of a command, with its own settings."""
    return click.Context(command, parent=parent, info_name=name, **command.context_settings)


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(make_page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != make_page():
        sys.exit(f"{PAGE.name} is out of date: run 'make format'")
