"""The readers that are compared, each in a process of its own."""

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks.manuals.pages import Page, read_pages

ROOT = Path(__file__).parents[2]
FORMATS = ("html", "pdf", "text")
READERS: dict[str, tuple[str, ...]] = {
    "before": FORMATS,
    "rejoinder": FORMATS,
    **dict.fromkeys(("trafilatura", "resiliparse", "selectolax", "lxml"), ("html",)),
    **dict.fromkeys(("pypdf", "pdfplumber"), ("pdf",)),
}
"""The formats of each reader."""
BEFORE = """
import json, pathlib, sys
from itertools import groupby
from rejoinder.documents.child import Child
from rejoinder.documents.files import find_files
from rejoinder.documents.read import read_file
from rejoinder.errors import InputError

folder = pathlib.Path(sys.argv[1])
with Child() as child:
    for path in find_files([folder]):
        file = str(path.relative_to(folder))
        try:
            documents = read_file(path, child=child)
        except InputError as error:
            print(json.dumps([file, str(error), "", []]))
            continue
        for document in documents:
            blocks = []
            for _, group in groupby(document.sentences, lambda sentence: sentence.paragraph):
                group = list(group)
                kind = "heading" if group[0].is_heading else "paragraph"
                text = document.text[group[0].start : group[-1].end]
                sentences = [[item.text, not item.is_heading] for item in group]
                blocks.append([kind, text, [], sentences])
            print(json.dumps([file, "", document.title, blocks]))
"""
"""Commit 2a183ad had paragraphs and headings, but no blocks."""


def find_readers() -> list[str]:
    """Return the readers whose library is installed."""
    return [name for name in READERS if name in {"before", "rejoinder"} or find_spec(name)]


def run_reader(name: str, manuals: Path, before: Path) -> Iterator[Page]:
    """Yield the pages that a reader makes of the manuals."""
    if name == "before":
        command = [find_python(before), "-c", BEFORE, str(manuals)]
        return read_pages(command, make_environment(before))
    command = [sys.executable, "-m", "benchmarks.manuals.alternatives", name, str(manuals)]
    return read_pages(command, make_environment(ROOT))


def find_python(tree: Path) -> str:
    """Return the interpreter of a checkout's own environment, or else this one."""
    own = tree / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def make_environment(tree: Path) -> dict[str, str]:
    """Return environment variables with which Python imports rejoinder from a checkout."""
    paths = [str(tree / "src"), str(tree)]
    if tree == ROOT:
        paths += [*filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
