"""A small vocabulary, a folder of documents, and an index over it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rejoinder.index.index import Index
from rejoinder.text.wordpiece import WordPiece

PIECES = WordPiece(["[UNK]", "tea", "is", "hot", "bee", "##s"])


CODE = "Install the package like this:\nmake install \\\n    --quiet"
"""The sentence of `GUIDE` that holds code."""
GUIDE = """# Guide

The guide is very short.

## Set up

### On Linux

Install the package like this:

```
make install \\
    --quiet
```

It then runs at once.

## Set up

Ask another person instead.
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "tea.md").write_text(
        "# Green tea\n\nTea is always hot. Let it steep briefly.\n\nMilk will spoil it.\n",
        encoding="utf-8",
    )
    (folder / "bees.txt").write_text(
        "Bees can dance well. A colony has one queen.", encoding="utf-8"
    )
    return folder


@pytest.fixture
def index(tmp_path: Path, docs: Path) -> Iterator[Index]:
    with Index(tmp_path / "index", create=True, tokenizer=PIECES) as index:
        index.add([docs])
        yield index
