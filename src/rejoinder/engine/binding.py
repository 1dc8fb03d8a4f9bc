"""Gives scorers that read what an index has stored the stores of the index that is asked."""

import logging
from dataclasses import replace

from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.index.sidecar.answers import AnswerMaker, IndexAnswers
from rejoinder.index.sidecar.pages import IndexPages, PageMaker
from rejoinder.models.has.scorer import HasScorer
from rejoinder.models.scorer import Scorer
from rejoinder.models.selector.page_encoder import PageEncoder
from rejoinder.models.selector.scorer import SelectorScorer

log = logging.getLogger(__name__)


def bind_scorer(scorer: Scorer, index: Index) -> Scorer | None:
    """Return the scorer, or the cascade's stages, bound to what an index has stored.

    One whose stored answers cannot be used is left out, and said: the index answers without
    it.  One whose stored context cannot be used finds it anew.  None where nothing is left.
    """
    if isinstance(scorer, HasScorer):
        return _bind_answers(scorer, index)
    if isinstance(scorer, SelectorScorer) and scorer.page_encoder is not None:
        return _bind_pages(scorer, scorer.page_encoder, index)
    return _bind_stages(scorer, index) if isinstance(scorer, Cascade) else scorer


def _bind_answers(scorer: HasScorer, index: Index) -> Scorer | None:
    try:
        found = index.open_rows(AnswerMaker(scorer.encoder))
    except StoreError as error:
        log.warning("%s is left out: %s", scorer.name, error)
        return None
    return scorer.bind(IndexAnswers(found) if found else None)


def _bind_pages(scorer: SelectorScorer, encoder: PageEncoder, index: Index) -> Scorer:
    try:
        found = index.open_rows(PageMaker(encoder))
    except StoreError as error:
        log.warning("%s reads whole documents for their context: %s", scorer.name, error)
        return scorer
    return scorer.bind(IndexPages(found)) if found else scorer


def _bind_stages(cascade: Cascade, index: Index) -> Scorer | None:
    bound = [(stage, bind_scorer(stage.scorer, index)) for stage in cascade.stages]
    if all(scorer is stage.scorer for stage, scorer in bound):
        return cascade
    stages: list[Stage] = []
    for stage, found in bound:
        if found:
            stages.append(replace(stage, scorer=found))
        elif stages and stage.keep:
            # What comes next gets no more than it would have.
            stages[-1] = replace(stages[-1], keep=stage.keep)
    if not stages:
        return None
    has_last = bound[-1][1] is not None  # confidence is fitted to the last stage
    stages[-1] = replace(stages[-1], keep=None)
    return Cascade(cascade.name, stages, calibration=cascade.calibration if has_last else None)
