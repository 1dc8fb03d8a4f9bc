"""The styles of office documents: what they say about paragraphs and their text."""

import re
from typing import Literal, TypedDict

from rejoinder.documents.formats.office.flow import Script

MAX_DEPTH = 20
"""Styles that a style may be based on; this also ends a circle of them."""

Role = Literal["", "title", "contents", "caption", "code", "item", "head", "term"]


class Properties(TypedDict, total=False):
    """Properties that a style or a run of text sets; it inherits all others."""

    role: Role
    level: int  # of a heading, from 1; 0 for other paragraphs
    item: bool
    bold: bool
    monospaced: bool
    hidden: bool
    script: Script


_HEADING = re.compile(r"heading ?([1-9])")
_ROLES: tuple[tuple[re.Pattern[str], Role], ...] = (
    (re.compile("title$"), "title"),
    (re.compile(r"(?:toc|contents|index) ?(?:heading|\d)|table ?of |\w+ index "), "contents"),
    (re.compile(r"[a-z ]*caption$|(?:illustration|figure|table|drawing)$"), "caption"),
    (re.compile(r"(?:.*[ _-])?(?:code|source|preformatted|verbatim|listing)|html |macro"), "code"),
    (re.compile("list ?(?:bullet|number)"), "item"),
    (re.compile("table ?heading"), "head"),
    (re.compile("definition ?term|list ?heading"), "term"),
)
_MONOSPACED = re.compile("mono|courier|consol|menlo|monaco|typewriter|source code")


def read_name(name: str) -> Properties:
    """Return what the name of a style says.

    >>> read_name("heading 2"), read_name("Source Code"), read_name("Normal")
    ({'level': 2}, {'role': 'code'}, {})
    """
    name = name.strip().lower()
    if heading := _HEADING.match(name):
        return {"level": int(heading[1])}
    role = next((role for pattern, role in _ROLES if pattern.match(name)), None)
    return {"role": role} if role else {}


def is_monospaced(font: str) -> bool:
    """Return whether a font is for code, by its name."""
    return bool(_MONOSPACED.search(font.lower()))


class StyleSheet:
    """Styles by their ids, each based on another."""

    def __init__(self) -> None:
        self._own: dict[str, tuple[str, Properties]] = {}
        self._resolved: dict[str, Properties] = {}

    def add(self, id_: str, name: str, based_on: str, properties: Properties) -> None:
        """Add a style; its properties count before what its name says."""
        self._own[id_] = based_on, {**read_name(name), **properties}

    def find(self, id_: str) -> Properties:
        """Return the properties of a style, with those that it inherits."""
        if id_ not in self._resolved:
            self._resolved[id_] = self._resolve(id_)
        return self._resolved[id_]

    def _resolve(self, id_: str) -> Properties:
        if id_ not in self._own:
            return read_name(id_.replace("_20_", " "))
        chain: list[Properties] = []
        while id_ in self._own and len(chain) < MAX_DEPTH:
            id_, properties = self._own[id_]
            chain.append(properties)
        merged: Properties = {}
        for properties in reversed(chain):
            merged.update(properties)
        return merged
