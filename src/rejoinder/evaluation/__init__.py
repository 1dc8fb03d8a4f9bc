"""Evaluation: measure, compare, calibrate and tune scorers on data sets.

>>> from rejoinder.types import Candidate, Example
>>> pair = (Candidate("a", "It rained."), Candidate("b", "Ada wrote it."))
>>> examples = [Example("1", "Who wrote it?", pair, (False, True))]
>>> evaluate("bm25", examples, measures=["P@1"]).means
{'P@1': 1.0}
"""

from rejoinder.evaluation.calibrate import CalibrateOptions, calibrate
from rejoinder.evaluation.compare import compare
from rejoinder.evaluation.evaluate import evaluate
from rejoinder.evaluation.measures import Protocol
from rejoinder.evaluation.tune import TuneOptions, tune

__all__ = [
    "CalibrateOptions",
    "Protocol",
    "TuneOptions",
    "calibrate",
    "compare",
    "evaluate",
    "tune",
]
