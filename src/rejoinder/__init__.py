"""Answers a question with the one sentence that answers it, on a plain CPU.

>>> import rejoinder
>>> ranking = rejoinder.rank(
...     "who wrote it?", ["It rained.", "Ada wrote it."], scorer=rejoinder.load("bm25")
... )
>>> ranking.items[0].candidate.text
'Ada wrote it.'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rejoinder.cascade.loading import load
    from rejoinder.engine.engine import open
    from rejoinder.errors import RejoinderError
    from rejoinder.models.ranking import rank
    from rejoinder.types import Answer, Answers, Candidate, Document, Example, Ranking

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Answers",
    "Candidate",
    "Document",
    "Example",
    "Ranking",
    "RejoinderError",
    "load",
    "open",
    "rank",
]

_HOMES = {
    "RejoinderError": "errors",
    "load": "cascade.loading",
    "open": "engine.engine",
    "rank": "models.ranking",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    # On first use, so that `rejoinder --help` does not pay for numpy.
    if name not in __all__:
        raise AttributeError(f"module 'rejoinder' has no attribute {name!r}")
    return getattr(import_module(f"rejoinder.{_HOMES.get(name, 'types')}"), name)
