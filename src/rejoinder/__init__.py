"""Answer a question with the one sentence that answers it, on a CPU.

>>> import rejoinder
>>> ranking = rejoinder.rank(
...     "who wrote it?", ["It rained.", "Ada wrote it."], scorer=rejoinder.load("bm25")
... )
>>> ranking.items[0].candidate.text
'Ada wrote it.'
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Imported on first use, so that `rejoinder --help` does not import numpy.  The same names are
# in `__init__.pyi`, for type checkers and editors.
_NAMES = {
    "cascade.loading": "load",
    "engine.citing": "cite",
    "engine.engine": "Engine open open_files",
    "engine.highlight": "Highlights PrunedText ScoredSentence highlight",
    "errors": (
        "BundleError DataError DownloadError InputError MissingDataError MissingExtraError"
        " RejoinderError StoreError TrainingError UnknownNameError"
    ),
    "evaluation": (
        "CalibrateOptions TuneOptions calibrate calibrate_sentences compare evaluate tune"
    ),
    "index.index": "Index",
    "models.ranking": "rank",
    "models.scorer": "Scorer",
    "training": (
        "average_selectors distil mine_lists train_has train_ranker train_selector"
        " train_static_encoder"
    ),
    "training.options": (
        "DistilOptions HasOptions MiningOptions RankerOptions SelectorOptions StaticEncoderOptions"
        " Trained"
    ),
    "types": (
        "Answer Answers Candidate Citation Citations ContextBlock Document Example Mark Ranking"
        " RetrievalScores ScoredCandidate Source StageTrace Statement WordMatch"
    ),
}
_MODULES = {
    name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names.split()
}
__all__ = sorted(_MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        from rejoinder.extras import find_missing_extra

        raise find_missing_extra(f"rejoinder.{name}", error) or error from error
