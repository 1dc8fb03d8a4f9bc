"""Write docs/command-line.md and the manual page, docs/rejoinder.1, from the help of the commands.

Usage: python docs/make_help.py [--check]
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rejoinder import __version__
from rejoinder.cli import main

PAGE = Path(__file__).with_name("command-line.md")
MANUAL = Path(__file__).with_name("rejoinder.1")
PAGE_WIDTH, MANUAL_WIDTH = 88, 76
INTRODUCTION = """# The command line

Results go to stdout, messages to stderr; `--json` prints JSON, and `--format` tables as CSV or
LaTeX, too.  The exit status is 0, 1 (a user error, with one line on stderr) or 2 (wrong usage).
`python docs/make_help.py` generates this page, and the manual page: `man rejoinder` shows it where
the wheel is installed.

## Shell completion

Add one line to the start file of your shell, and open a new one:

```bash
eval "$(_REJOINDER_COMPLETE=bash_source rejoinder)"               # ~/.bashrc
eval "$(_REJOINDER_COMPLETE=zsh_source rejoinder)"                # ~/.zshrc, after compinit
_REJOINDER_COMPLETE=fish_source rejoinder | source                # ~/.config/fish/config.fish
```

The tab key then completes commands, options, the values of options that have a fixed list, and
files.
"""

HEAD = f"""\
.\\" Written by docs/make_help.py.
.TH REJOINDER 1 "" "rejoinder {__version__}" "User Commands"
.SH NAME
rejoinder \\- answer a question with the one sentence that answers it, on a plain CPU
.SH SYNOPSIS
.B rejoinder
.I COMMAND
[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]
.SH DESCRIPTION
Results go to stdout, messages to stderr.
The exit status is 0, 1 (a user error, with one line on stderr) or 2 (wrong usage).
.SH COMMANDS
"""


def make_page() -> str:
    """Return the help of every command, in the order of the command list."""
    sections = [
        f"## {context.command_path}\n\n```text\n{context.get_help()}\n```\n"
        for context in walk(main, make_context(main, None, "rejoinder"), PAGE_WIDTH)
    ]
    return "\n".join([INTRODUCTION, *sections])


def make_manual() -> str:
    """Return the manual page, in roff: the help of every command as it is on a terminal."""
    sections = [
        f".SS {escape(context.command_path)}\n.EX\n{escape(context.get_help())}\n.EE\n"
        for context in walk(main, make_context(main, None, "rejoinder"), MANUAL_WIDTH)
    ]
    return HEAD + "".join(sections)


def escape(text: str) -> str:
    """Return text as roff prints it unchanged."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"[^\x00-\x7f]", lambda m: f"\\[u{ord(m[0]):04X}]", text)
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def walk(command: click.Command, context: click.Context, width: int) -> Iterator[click.Context]:
    """Yield the context of a command and of all commands below it."""
    context.terminal_width = width
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from walk(below, make_context(below, context, name), width)


def make_context(command: click.Command, parent: click.Context | None, name: str) -> click.Context:
    """Return the context of a command, with its own settings."""
    return click.Context(command, parent=parent, info_name=name, **command.context_settings)


if __name__ == "__main__":
    for page, text in ((PAGE, make_page()), (MANUAL, make_manual())):
        if "--check" not in sys.argv:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            sys.exit(f"{page.name} is out of date: run 'make format'")
