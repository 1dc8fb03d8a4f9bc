"""Evaluation: measure, compare, calibrate and tune scorers on data sets.

>>> from rejoinder.types import Candidate, Example
>>> pair = (Candidate("a", "It rained."), Candidate("b", "Ada wrote it."))
>>> examples = [Example("1", "Who wrote it?", pair, (False, True))]
>>> evaluate("bm25", examples, measures=["P@1"]).means
{'P@1': 1.0}
"""

from rejoinder.evaluation.calibration.calibrate import CalibrateOptions, calibrate
from rejoinder.evaluation.calibration.sentences import calibrate_sentences
from rejoinder.evaluation.comparison import compare
from rejoinder.evaluation.measures import Protocol
from rejoinder.evaluation.reports import evaluate
from rejoinder.evaluation.tuning import TuneOptions, tune

__all__ = [
    "CalibrateOptions",
    "Protocol",
    "TuneOptions",
    "calibrate",
    "calibrate_sentences",
    "compare",
    "evaluate",
    "tune",
]
