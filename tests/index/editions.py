"""Editions of an index whose sentences carry a number, and how to put one in place."""

import shutil
from pathlib import Path

from rejoinder.index.index import Index
from rejoinder.text.wordpiece import WordPiece
from rejoinder.types import Document

PIECES = WordPiece(["[UNK]"])
QUESTION = "which edition is about caves?"


def make(folder: Path, edition: int) -> Path:
    """Write an index of one to three documents."""
    texts = [f"Before {edition}. Edition {edition} is about caves. After {edition}."]
    texts += [f"Page {page} of edition {edition}." for page in range(edition % 3)]
    with Index(folder, create=True, tokenizer=PIECES) as index:
        index.add_documents(
            Document(f"{edition}-{place}", "", text=text) for place, text in enumerate(texts)
        )
    return folder


def put(folder: Path, new: Path) -> None:
    """Put a folder at a path, and delete the one that was there."""
    if folder.exists():
        folder.rename(folder.with_name("old"))
    new.rename(folder)
    shutil.rmtree(folder.with_name("old"), ignore_errors=True)


def point(link: Path, to: Path) -> None:
    """Switch a link in one step."""
    new_link = link.with_name("next")
    new_link.symlink_to(to)
    new_link.replace(link)
