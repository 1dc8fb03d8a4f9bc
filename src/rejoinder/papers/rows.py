"""Trains one row of a table: a small ranker or a selector, from nothing or from shipped weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from rejoinder.errors import InputError
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.models.ranker.export import read_weights
from rejoinder.models.ranker.module.ranker import (
    Ranker,
    RankerConfig,
    TorchScorer,
    count_parameters,
    initialise,
)
from rejoinder.models.registry import list_shipped, open_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.vectors import StaticVectors
from rejoinder.papers.published import SELECTOR, Row
from rejoinder.training.fit import Fitted, Plan
from rejoinder.training.loop import Recipe, Step
from rejoinder.training.mixing import Part
from rejoinder.training.ranker import fit_ranker
from rejoinder.training.selector import ADAPTING, SelectorTorchScorer, fit_selector, open_start

OnStep = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Trained:
    """What a row came to."""

    scorer: Scorer
    parameters: int
    seconds: float


def train_row(
    row: Row, seed: int, parts: Sequence[Part], vectors: StaticVectors, on_step: OnStep
) -> Trained:
    """Train a row with one seed, or open the shipped weights where it is not trained.

    Raises:
        InputError: the row begins with weights that this installation does not have.
    """
    if row.is_shipped and row.model not in list_shipped():
        raise InputError(f"{row.name}: the weights of {row.model} are not installed")
    if row.model.startswith(SELECTOR):
        trained = _train_selector(row, seed, parts, on_step)
    else:
        trained = _train_ranker(row, seed, parts, vectors, on_step)
    # What is shipped is measured as it is used: in int8, without torch.
    return trained if row.is_trained else replace(trained, scorer=open_scorer(row.model))


def _train_ranker(
    row: Row, seed: int, parts: Sequence[Part], vectors: StaticVectors, on_step: OnStep
) -> Trained:
    config = RankerConfig(row.model, vectors.width, row.head)
    start = read_weights(row.model, config) if row.is_shipped else None
    if row.is_trained:
        plan = Plan(config, Recipe(row.loss, seed=seed))
        fitted = fit_ranker(plan, parts, vectors, start=start, on_step=on_step)
    else:
        fitted = _open(config, start or {})
    scorer = TorchScorer(fitted.model, vectors)
    return Trained(scorer, count_parameters(fitted.model), fitted.seconds)


def _open(config: RankerConfig, weights: dict[str, Tensor]) -> Fitted[Ranker]:
    model = initialise(config, seed=0)
    model.load_state_dict(weights)
    return Fitted(model.eval(), 0.0, 0)


def _train_selector(row: Row, seed: int, parts: Sequence[Part], on_step: OnStep) -> Trained:
    _, _, layers = row.model.partition(f"{SELECTOR}-")
    model, vocabulary = open_start(
        SELECTOR if row.is_shipped else None,
        DEFAULT,
        int(layers.removesuffix("-layers")) if layers else None,
    )
    seconds = 0.0
    if row.is_trained:
        plan = Plan(model.config, replace(ADAPTING, loss=row.loss, seed=seed))
        seconds = fit_selector(plan, parts, model, vocabulary, on_step=on_step).seconds
    return Trained(SelectorTorchScorer(model, vocabulary), count_parameters(model), seconds)
