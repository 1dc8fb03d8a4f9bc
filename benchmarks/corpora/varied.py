"""Corpora of any size: the text of real files, then copies of it with other words.

A copy replaces many of its words by words drawn from all files, each as often as it occurs there:
nearly no sentence occurs twice, and frequent words stay frequent.
"""

from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rejoinder.documents.reading import read_file
from rejoinder.documents.sandbox import SandboxedReader
from rejoinder.errors import InputError

DRAWN = 0.4
"""The share of a copy's words that are replaced."""
SENTENCES = 20
"""Sentences of one document more."""


class Page(NamedTuple):
    """A document that was read."""

    title: str
    blocks: list[tuple[int, list[str]]]
    """The level of a heading, or 0 for text, and the sentences of the block."""


class Corpus:
    """Writes Markdown files with the text of pages."""

    def __init__(self, pages: list[Page], seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._pages = [pages[place] for place in self._rng.permutation(len(pages))]
        self._sentences = [
            text for page in pages for level, own in page.blocks if not level for text in own
        ]
        self._words = np.array(" ".join(self._sentences).split(), dtype=object)

    def write(self, folder: Path, sentences: int, *, rounds: int = 0) -> Path:
        """Write files until they hold so many sentences, and return their folder.

        Args:
            rounds: of the text that other folders hold: the first files are copies already if it
                is not 0.
        """
        written = 0
        for number in count(rounds * len(self._pages)):
            below = folder / f"{number // 1000:03d}"
            below.mkdir(parents=True, exist_ok=True)
            round_, place = divmod(number, len(self._pages))
            page = self._pages[place]
            text = self._format(page, is_copy=round_ > 0)
            (below / f"{number:06d}.md").write_text(text, encoding="utf-8")
            written += sum(len(own) for _, own in page.blocks)
            if written >= sentences:
                return folder
        raise AssertionError

    def count_sentences(self) -> int:
        """Return how many sentences a round of all pages holds."""
        return sum(len(own) for page in self._pages for _, own in page.blocks)

    def write_document(self, path: Path) -> Path:
        """Write a file of new sentences, and return its path."""
        places = self._rng.integers(len(self._sentences), size=SENTENCES)
        texts = [self._vary(self._sentences[place]) for place in places]
        path.write_text("\n\n".join(texts), encoding="utf-8")
        return path

    def _format(self, page: Page, *, is_copy: bool) -> str:
        lines = [] if page.blocks[0][0] else [f"# {page.title}"]
        for level, sentences in page.blocks:
            texts = map(self._vary, sentences) if is_copy and not level else sentences
            lines.append("#" * level + " " * bool(level) + " ".join(texts))
        return "\n\n".join(lines)

    def _vary(self, sentence: str) -> str:
        words = np.array(sentence.split(), dtype=object)
        is_drawn = self._rng.random(len(words)) < DRAWN
        is_drawn[[0, -1]] = False  # they begin and end the sentence
        drawn = self._words[self._rng.integers(len(self._words), size=int(is_drawn.sum()))]
        words[is_drawn] = [word.rstrip(".?!:") or "it" for word in drawn]
        return " ".join(words)


def read_pages(paths: Iterable[Path]) -> list[Page]:
    """Read the documents of files; files that cannot be read are left out."""
    pages = []
    with SandboxedReader() as sandbox:
        for path in paths:
            with suppress(InputError):
                for document in read_file(path, sandbox=sandbox):
                    blocks = [
                        (
                            min(len(block.path) + 1, 6) if block.kind == "heading" else 0,
                            [" ".join(sentence.text.split()) for sentence in block.sentences],
                        )
                        for block in document.blocks
                    ]
                    pages.append(Page(" ".join(document.title.split()), blocks))
    return [page for page in pages if any(own for level, own in page.blocks if not level)]
