"""The command line: one module per command, imported when it is called."""

from rejoinder.cli.main import main

__all__ = ["main"]
