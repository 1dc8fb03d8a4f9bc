"""Show the doctests of docstrings as code (an extension of griffe, for mkdocs.yml)."""

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^>>> .*\n(?:.+\n?)*", re.MULTILINE)
"""A doctest ends at an empty line."""


class Doctests(griffe.Extension):
    """Puts each doctest into a fence, as Markdown would take it for a quotation."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring:
            text = obj.docstring.value
            obj.docstring.value = DOCTEST.sub(lambda m: f"```pycon\n{m[0].rstrip()}\n```\n", text)
