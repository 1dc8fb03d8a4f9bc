"""Questions over pages, and results, for the tests of the context tables."""

from rejoinder.papers.context_runs import Run
from rejoinder.types import Candidate, Document, Example
from tests.training.selectors import WORDS


def make_run(row: str, seed: int, *rights: float) -> Run:
    values = {name: list(rights) for name in ("P@1", "MAP", "MRR")}
    return Run(row, seed, 100, "int8", {"set:dev": values}, [], [])


def make_examples() -> list[Example]:
    """Return questions over pages of 24 sentences, two candidates each."""
    found = []
    for number in range(6):
        sentences = tuple(
            f"the {WORDS[(number + place) % len(WORDS)]} is {WORDS[place]}" for place in range(24)
        )
        document = Document(f"page {number}", f"page {number}", sentences)
        candidates = tuple(
            Candidate(f"{number}-{place}", sentences[place], document, place) for place in (3, 4)
        )
        word = WORDS[(number + 3) % len(WORDS)]
        found.append(Example(str(number), f"where is the {word}?", candidates, (True, False)))
    return found
