"""Gives scorers that read stored answers the store of the index that is asked."""

import logging
from dataclasses import replace

from rejoinder.cascade.cascade import Cascade
from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.runtime.has import HasScorer
from rejoinder.runtime.scorer import Scorer

log = logging.getLogger(__name__)


def bind_scorer(scorer: Scorer, index: Index) -> Scorer | None:
    """Return the scorer, or the cascade's stages, bound to what an index has stored.

    One whose stored answers cannot be used is left out, and said: the index answers without
    it.  None where nothing is left.
    """
    if isinstance(scorer, HasScorer):
        try:
            return scorer.bind(index.open_answers(scorer.encoder))
        except StoreError as error:
            log.warning("%s is left out: %s", scorer.name, error)
            return None
    return _bind_stages(scorer, index) if isinstance(scorer, Cascade) else scorer


def _bind_stages(cascade: Cascade, index: Index) -> Scorer | None:
    if not any(isinstance(stage.scorer, HasScorer) for stage in cascade.stages):
        return cascade
    bound = [(stage, bind_scorer(stage.scorer, index)) for stage in cascade.stages]
    stages = [replace(stage, scorer=scorer) for stage, scorer in bound if scorer]
    if not stages:
        return None
    has_last = bound[-1][1] is not None  # confidence is fitted to the last stage
    stages[-1] = replace(stages[-1], keep=None)
    return Cascade(cascade.name, stages, calibration=cascade.calibration if has_last else None)
