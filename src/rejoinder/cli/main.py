"""`rejoinder`: the group of all commands; our errors become one line and exit status 1."""

import atexit
import gc
import importlib
import os
import sys
from typing import Any

import click
from click.shell_completion import CompletionItem

from rejoinder import __version__
from rejoinder.cli.options import example
from rejoinder.errors import RejoinderError

SECTIONS = {
    "documents": {
        "ask": "Answer a question with a sentence of your documents.",
        "cite": "Find the sentences of sources that support an answer.",
        "index": "Keep an index of documents.",
        "feedback": "Mark answers right or wrong, to train on.",
    },
    "ranking": {
        "rank": "Rank candidates for a question.",
        "highlight": "Show the sentences of a text that answer a question.",
        "serve": "Answer and rank over HTTP.",
        "mcp": "Let assistants ask, search and read an index (MCP).",
        "key": "Create an API key for the server.",
        "rank-table": "Rank a table of questions, here or on a cluster.",
        "encode-table": "Split a table of documents for an index, here or on a cluster.",
    },
    "models": {
        "models": "List scorers, and inspect bundles.",
        "train": "Train a model and write it as a bundle.",
        "mine": "Make training lists out of a whole corpus.",
        "distil": "Train a small ranker on the scores of a large one.",
        "bench": "Time scorers on this machine.",
    },
    "research": {
        "evaluate": "Measure a scorer on a data set.",
        "compare": "Compare scorers, with significance.",
        "tune": "Find the cascade that fits a latency budget.",
        "calibrate": 'Fit a scorer\'s confidence and its "no answer" threshold.',
        "reproduce": "Print a paper's table, published and measured.",
        "experiment": "Run the commands of a file again.",
        "data": "List, check and download data sets.",
    },
}
"""The sections of the help: each is a folder beside this file, each command a module in it."""

MODULES = {
    command: f"rejoinder.cli.{section}.{command.replace('-', '_')}"
    for section, commands in SECTIONS.items()
    for command in commands
}


class Commands(click.Group):
    """Imports the module of a command when it is called, so that --help stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names, in the order of the sections."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        if cmd_name not in MODULES:
            return None
        module = importlib.import_module(MODULES[cmd_name])
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        for section, commands in SECTIONS.items():
            with formatter.section(section.capitalize()):
                formatter.write_dl(list(commands.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command without importing them."""
        commands = {name: text for section in SECTIONS.values() for name, text in section.items()}
        return [
            *(
                CompletionItem(name, help=text)
                for name, text in commands.items()
                if name.startswith(incomplete)
            ),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a RejoinderError or a missing extra becomes one line on stderr."""
        try:
            return super().invoke(ctx)
        except RejoinderError as error:
            raise click.ClickException(str(error)) from error
        except ModuleNotFoundError as error:
            from rejoinder.extras import find_missing_extra

            missing = find_missing_extra("this command", error)
            if missing is None:
                raise
            raise click.ClickException(str(missing)) from error
        except BrokenPipeError:
            # The reader, such as `head`, has closed the pipe; keep Python from complaining at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=example('rejoinder ask "how are glacier caves formed?" examples/docs'),
)
@click.version_option(__version__, prog_name="rejoinder")
def main() -> None:
    """Answer a question with the one sentence that answers it, on a plain CPU."""
    # Python need not search all objects for cycles when it exits: the system frees them.
    atexit.unregister(gc.freeze)  # once, however many commands this process runs
    atexit.register(gc.freeze)
