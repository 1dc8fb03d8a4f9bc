"""Shared by the adapters' tests, here and in the frameworks' own environments (`run.py`)."""

import pytest

from rejoinder.cascade.calibration import Calibration, Logistic
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.models.lexical.scorers import WordOverlap

# Run where their frameworks are installed: run.py.
collect_ignore = ["frameworks"]


@pytest.fixture
def calibrated() -> Cascade:
    """Return a scorer that wants three shared words, or says that nothing answers."""
    calibration = Calibration(Logistic(intercept=-2.5, best=1.0))
    return Cascade("calibrated", [Stage(WordOverlap())], calibration=calibration)
