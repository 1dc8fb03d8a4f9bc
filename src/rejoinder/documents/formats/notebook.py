"""Reads Jupyter notebooks (.ipynb, nbformat 3 and 4): text cells as Markdown, code as code."""

import json
from collections.abc import Iterator
from typing import IO, Any

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.encoding import decode
from rejoinder.documents.formats.markup.builder import BlockBuilder, make_document
from rejoinder.documents.formats.markup.markdown import read_markdown
from rejoinder.errors import InputError


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield the document of a notebook, without the outputs of its cells."""
    try:
        notebook = json.loads(decode(file.read()))
    except (ValueError, RecursionError) as error:
        raise InputError("not a notebook (broken JSON)") from error
    yield make_document(_read_cells(_find_cells(notebook)))


def _find_cells(notebook: Any) -> list[dict[str, Any]]:
    notebook = notebook if isinstance(notebook, dict) else {}
    holders = [notebook, *_take_objects(notebook.get("worksheets"))]  # sheets before nbformat 4
    found = [holder["cells"] for holder in holders if isinstance(holder.get("cells"), list)]
    if not found:
        raise InputError("not a notebook (no cells)")
    return [cell for cells in found for cell in _take_objects(cells)]


def _take_objects(values: Any) -> list[dict[str, Any]]:
    return (
        [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
    )


def _read_cells(cells: list[dict[str, Any]]) -> Iterator[Block]:
    builder = BlockBuilder()
    for number, cell in enumerate(cells, start=1):
        for block in _read_cell(cell, builder):
            yield block._replace(line=None, anchor=f"cell-{number}")


def _read_cell(cell: dict[str, Any], builder: BlockBuilder) -> Iterator[Block]:
    source = cell.get("source", cell.get("input", ""))
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    kind = cell.get("cell_type")
    if kind == "markdown":
        yield from read_markdown(text, builder)
    elif kind == "code":
        yield from builder.block("code", text)
    elif kind == "heading":  # nbformat 3
        level = cell.get("level")
        yield from builder.heading(level if isinstance(level, int) else 1, text)
