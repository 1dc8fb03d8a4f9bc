"""Binds scorers that read stored rows to the sidecars of an index."""

from dataclasses import replace

from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.models.scorer import Scorer
from rejoinder.models.sidecar import SidecarScorer


def bind_scorer(scorer: Scorer, index: Index) -> Scorer | None:
    """Return the scorer, or the cascade's stages, bound to the stored rows of an index.

    A scorer whose rows cannot be read names its replacement (`without_rows`).  None where
    nothing is left.
    """
    if isinstance(scorer, Cascade):
        return _bind_stages(scorer, index)
    if not isinstance(scorer, SidecarScorer) or scorer.sidecar is None:
        return scorer
    try:
        rows = index.open_sidecar(scorer.sidecar)
    except StoreError as error:
        return scorer.without_rows(error)
    return scorer.bind(rows) if rows else scorer


def _bind_stages(cascade: Cascade, index: Index) -> Scorer | None:
    bound = [(stage, bind_scorer(stage.scorer, index)) for stage in cascade.stages]
    if all(scorer is stage.scorer for stage, scorer in bound):
        return cascade
    stages: list[Stage] = []
    for stage, scorer in bound:
        if scorer:
            stages.append(replace(stage, scorer=scorer))
        elif stages and stage.keep:
            # The next stage gets no more candidates than it would have.
            stages[-1] = replace(stages[-1], keep=stage.keep, keep_for_one=stage.keep_for_one)
    if not stages:
        return None
    has_last = bound[-1][1] is not None  # confidence is fitted to the last stage
    stages[-1] = replace(stages[-1], keep=None, keep_for_one=None)
    return Cascade(
        cascade.name,
        stages,
        calibration=cascade.calibration if has_last else None,
        sentences=cascade.sentences if has_last else None,
    )
