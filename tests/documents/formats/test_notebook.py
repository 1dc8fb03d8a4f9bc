import io
import json
from typing import Any

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.notebook import read
from rejoinder.errors import InputError


def read_document(notebook: Any) -> tuple[ExtractedDocument, list[Block]]:
    (document,) = read(io.BytesIO(json.dumps(notebook).encode()))
    return document, list(document.blocks)


def test_cells_become_blocks_under_their_headings() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Tea\n", "\n", "It is *hot*."]},
        {
            "cell_type": "code",
            "source": "boil()\n",
            "outputs": [{"output_type": "stream", "text": ["hidden"]}],
        },
        {"cell_type": "raw", "source": "hidden"},
        {"cell_type": "markdown", "source": "- green"},
    ]
    document, blocks = read_document({"nbformat": 4, "cells": cells})

    assert document.title == "Tea"
    assert blocks == [
        Block("heading", "Tea", anchor="cell-1"),
        Block("paragraph", "It is hot.", ("Tea",), anchor="cell-1"),
        Block("code", "boil()", ("Tea",), anchor="cell-2"),
        Block("item", "green", ("Tea",), anchor="cell-4"),
    ]


def test_nbformat_3_has_worksheets_and_heading_cells() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Tea"]},
        {"cell_type": "code", "input": ["boil()"]},
        {"cell_type": "heading", "level": "x", "source": ["Pot"]},
        "broken",
    ]
    _, blocks = read_document({"nbformat": 3, "worksheets": [{"cells": cells}, 3]})

    assert [(block.kind, block.text, block.path) for block in blocks] == [
        ("heading", "Tea", ()),
        ("code", "boil()", ("Tea",)),
        ("heading", "Pot", ()),
    ]


@pytest.mark.parametrize(
    "raw", [b"{", b"[" * 100_000, b"[1]", b"{}", b'{"cells": 3}', b'{"worksheets": 1}']
)
def test_other_files_are_refused(raw: bytes) -> None:
    with pytest.raises(InputError, match="not a notebook"):
        list(read(io.BytesIO(raw)))
