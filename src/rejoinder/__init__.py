"""Answer a question with the one sentence that answers it, on a CPU.

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
    from rejoinder.engine.engine import Engine, open
    from rejoinder.errors import (
        BundleError,
        DataError,
        DownloadError,
        InputError,
        MissingDataError,
        MissingExtraError,
        RejoinderError,
        StoreError,
        TrainingError,
        UnknownNameError,
    )
    from rejoinder.evaluation import calibrate, compare, evaluate, tune
    from rejoinder.index.index import Index
    from rejoinder.models.ranking import rank
    from rejoinder.models.scorer import Scorer
    from rejoinder.types import (
        Answer,
        Answers,
        Candidate,
        Document,
        Example,
        Mark,
        Ranking,
        ScoredCandidate,
        Source,
        StageTrace,
        WordMatch,
    )

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Answers",
    "BundleError",
    "Candidate",
    "DataError",
    "Document",
    "DownloadError",
    "Engine",
    "Example",
    "Index",
    "InputError",
    "Mark",
    "MissingDataError",
    "MissingExtraError",
    "Ranking",
    "RejoinderError",
    "ScoredCandidate",
    "Scorer",
    "Source",
    "StageTrace",
    "StoreError",
    "TrainingError",
    "UnknownNameError",
    "WordMatch",
    "calibrate",
    "compare",
    "evaluate",
    "load",
    "open",
    "rank",
    "tune",
]

_MODULES = {
    "Engine": "engine.engine",
    "Index": "index.index",
    "Scorer": "models.scorer",
    "calibrate": "evaluation",
    "compare": "evaluation",
    "evaluate": "evaluation",
    "load": "cascade.loading",
    "open": "engine.engine",
    "rank": "models.ranking",
    "tune": "evaluation",
}
"""The modules of the functions and classes that are neither types nor errors."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    # Imported on first use, so that `rejoinder --help` does not import numpy.
    if name not in __all__:
        raise AttributeError(f"module 'rejoinder' has no attribute {name!r}")
    module = _MODULES.get(name) or ("errors" if name.endswith("Error") else "types")
    return getattr(import_module(f"rejoinder.{module}"), name)
