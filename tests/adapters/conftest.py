"""Shared by the adapters' tests, here and in the frameworks' own environments (`run.py`)."""

import pytest

from rejoinder.cascade.calibration import (
    Calibration,
    Logistic,
    SentenceCalibration,
    StageCalibration,
)
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.models.lexical.scorers import WordOverlap

# Run where their frameworks are installed: run.py.
collect_ignore = ["frameworks"]


@pytest.fixture
def calibrated() -> Cascade:
    """Return a scorer that wants three shared words, or says that nothing answers."""
    calibration = Calibration(Logistic(intercept=-2.5, best=1.0))
    return Cascade("calibrated", [Stage(WordOverlap())], calibration=calibration)


@pytest.fixture
def lexical() -> Cascade:
    """Return a scorer that keeps the sentences with three shared words."""
    stages = {"word-overlap": StageCalibration(-3.0, 1.0, 0.0)}
    sentences = SentenceCalibration(stages, floor=0.0, keep=64, threshold=0.5, pruning=0.5)
    return Cascade("lexical", [Stage(WordOverlap())], sentences=sentences)
