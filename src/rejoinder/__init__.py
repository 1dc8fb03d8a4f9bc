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
    from rejoinder.engine.engine import Engine, open, open_files
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
    from rejoinder.evaluation import (
        CalibrateOptions,
        TuneOptions,
        calibrate,
        compare,
        evaluate,
        tune,
    )
    from rejoinder.index.index import Index
    from rejoinder.models.ranking import rank
    from rejoinder.models.scorer import Scorer
    from rejoinder.training.distillation import distil
    from rejoinder.training.has import train_has
    from rejoinder.training.options import (
        DistilOptions,
        HasOptions,
        RankerOptions,
        SelectorOptions,
        Trained,
    )
    from rejoinder.training.ranker import train_ranker
    from rejoinder.training.selector import train_selector
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
    "CalibrateOptions",
    "Candidate",
    "DataError",
    "DistilOptions",
    "Document",
    "DownloadError",
    "Engine",
    "Example",
    "HasOptions",
    "Index",
    "InputError",
    "Mark",
    "MissingDataError",
    "MissingExtraError",
    "RankerOptions",
    "Ranking",
    "RejoinderError",
    "ScoredCandidate",
    "Scorer",
    "SelectorOptions",
    "Source",
    "StageTrace",
    "StoreError",
    "Trained",
    "TrainingError",
    "TuneOptions",
    "UnknownNameError",
    "WordMatch",
    "calibrate",
    "compare",
    "distil",
    "evaluate",
    "load",
    "open",
    "open_files",
    "rank",
    "train_has",
    "train_ranker",
    "train_selector",
    "tune",
]

_MODULES = {
    "CalibrateOptions": "evaluation",
    "DistilOptions": "training.options",
    "Engine": "engine.engine",
    "HasOptions": "training.options",
    "Index": "index.index",
    "RankerOptions": "training.options",
    "Scorer": "models.scorer",
    "SelectorOptions": "training.options",
    "Trained": "training.options",
    "TuneOptions": "evaluation",
    "calibrate": "evaluation",
    "compare": "evaluation",
    "distil": "training.distillation",
    "evaluate": "evaluation",
    "load": "cascade.loading",
    "open": "engine.engine",
    "open_files": "engine.engine",
    "rank": "models.ranking",
    "train_has": "training.has",
    "train_ranker": "training.ranker",
    "train_selector": "training.selector",
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
