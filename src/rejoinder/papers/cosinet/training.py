"""Trains the rows of the Cosinet paper's tables, by our recipe or by the papers' own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingDataError
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.models.ranker.export import read_weights
from rejoinder.models.ranker.module.ranker import (
    RankerConfig,
    TorchScorer,
    count_parameters,
    initialise,
)
from rejoinder.models.registry import list_shipped, open_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.files import load_published_vectors
from rejoinder.models.static_vectors.vectors import StaticVectors, load_vectors
from rejoinder.papers.cosinet.rows import CA_BILSTM, SELECTOR, RankerRow, RankerTable
from rejoinder.papers.examples import Say, is_large, open_examples
from rejoinder.papers.ingredients import Ingredients
from rejoinder.papers.table import OnStep
from rejoinder.training.devices import Compute, choose_compute
from rejoinder.training.fit import Fitted, Plan
from rejoinder.training.loop import Recipe
from rejoinder.training.mixing import Part, join_parts, read_parts
from rejoinder.training.ranker import fit_ranker
from rejoinder.training.selector import ADAPTING, SelectorTorchScorer, fit_selector, open_start
from rejoinder.types import Example

CLASSIFIER = Recipe(
    "pointwise", epochs=3, questions_per_step=4, learning_rate=2e-5, weight_decay=0.01, clip=1.0
)
"""How the papers fine-tune BERT (docs/papers.md says what they leave open)."""
PAIRS_PER_STEP = 32
"""Of Matsubara et al. 2020; Bonadiman & Moschitti 2020 do not state their batch of pairs."""
MATSUBARA = Recipe("pointwise", epochs=20, pairs_per_step=PAIRS_PER_STEP, learning_rate=1e-4)
"""Compare-Aggregate of Matsubara et al. 2020, with early stopping."""
PATIENCE = 3


@dataclass(frozen=True, slots=True)
class TrainedRow:
    """The scorer of a row, and the cost of its training."""

    scorer: Scorer
    parameters: int
    seconds: float = 0.0
    compute: Compute | None = None
    """None where nothing was trained."""

    def describe_compute(self) -> dict[str, str]:
        """Return device and precision as ingredients."""
        return self.compute.describe() if self.compute else {}


def _read_parts(choices: Sequence[str], folder: Path | None, say: Say) -> list[Part]:
    """Return the training data: in memory for many trainings, large sets as streams."""
    parts = zip(choices, read_parts(choices, folder, say), strict=True)
    return [part if is_large(choice) else part.load() for choice, part in parts]


class RankerTrainer:
    """Trains the rows of a table from its own ingredients, or from those that are given."""

    def __init__(
        self,
        ingredients: Ingredients,
        table: RankerTable,
        folder: Path | None = None,
        say: Say = lambda _: None,
    ) -> None:
        self._ingredients = ingredients
        self._compute = choose_compute(ingredients.device, ingredients.precision)
        choices = ingredients.train or (table.train,)
        self.read_parts = cache(lambda: _read_parts(choices, folder, say))
        self._read_dev = cache(
            lambda: list(open_examples(table.dev, folder, say)) if table.dev else []
        )
        self._read_curve_dev = cache(self._find_dev)
        self._read_test = cache(lambda: open_examples(table.test, folder))
        self._load_vectors = cache(self._open_vectors)

    def train(self, row: RankerRow, seed: int, on_step: OnStep) -> TrainedRow:
        """Train a row, or open its shipped weights.

        Raises:
            InputError: the row starts from weights that this installation does not have.
        """
        if row.is_shipped and row.model not in list_shipped():
            raise InputError(f"{row.name}: the weights of {row.model} are not installed")
        if row.model.startswith(SELECTOR):
            return self._train_selector(row, seed, on_step)
        vectors = load_vectors() if row.is_shipped else self._load_vectors()
        config = RankerConfig(row.model, vectors.width, row.head)
        if not row.is_seeded:  # measured as it is used: without torch
            return TrainedRow(open_scorer(row.model), count_parameters(initialise(config, seed=0)))
        start = read_weights(row.model, config) if row.is_shipped else None
        plan = Plan(config, self._choose_recipe(row, seed), compute=self._compute)
        plan = replace(plan, measures_dev=True)
        dev = self._read_curve_dev()
        if row.model == CA_BILSTM:
            plan = replace(plan, keeps_best=True, patience=PATIENCE)
            dev = self._read_dev()
        fitted = fit_ranker(plan, self.read_parts(), vectors, start=start, dev=dev, on_step=on_step)
        return _finish(fitted, TorchScorer(fitted.model, vectors))

    def _choose_recipe(self, row: RankerRow, seed: int) -> Recipe:
        """Return how a small ranker is trained: the paper's pointwise ones on single pairs."""
        if row.model == CA_BILSTM:
            return replace(MATSUBARA, seed=seed)
        recipe = Recipe(row.loss, seed=seed)
        if self._ingredients.is_paper and row.loss == "pointwise":
            return replace(recipe, pairs_per_step=PAIRS_PER_STEP)
        return recipe

    def _train_selector(self, row: RankerRow, seed: int, on_step: OnStep) -> TrainedRow:
        layers = row.model.removeprefix(SELECTOR).removeprefix("-").removesuffix("-layers")
        start = SELECTOR if row.is_shipped else None
        is_paper = self._ingredients.is_paper
        model, tokenizer = open_start(
            start,
            self._ingredients.encoder or DEFAULT,
            int(layers) if layers else None,
            **({"recipe": "classifier"} if is_paper else {}),
        )
        if not row.is_seeded:  # measured as it is used: in int8, without torch
            return TrainedRow(open_scorer(row.model), count_parameters(model))
        recipe = CLASSIFIER if is_paper else replace(ADAPTING, loss=row.loss)
        plan = Plan(
            model.config, replace(recipe, seed=seed), measures_dev=True, compute=self._compute
        )
        dev = self._read_curve_dev()
        fitted = fit_selector(plan, self.read_parts(), model, tokenizer, dev=dev, on_step=on_step)
        scorer = SelectorTorchScorer(fitted.model.to(self._compute.device), tokenizer)
        return _finish(fitted, scorer)

    def _find_dev(self) -> Sequence[Example]:
        """Return what learning curves are measured on; nothing where it is not here."""
        try:
            return self._read_dev()
        except MissingDataError:
            return ()

    def _open_vectors(self) -> StaticVectors:
        """Return the shipped vectors, a bundle's, or those of a file for the words of the data."""
        path = self._ingredients.vectors
        if path is None or path.is_dir():
            return load_vectors(path) if path else load_vectors()
        words = chain(join_parts(self.read_parts()), self._read_curve_dev(), self._read_test())
        return load_published_vectors(path, words)


def _finish(fitted: Fitted[Any], scorer: Scorer) -> TrainedRow:
    return TrainedRow(scorer, count_parameters(fitted.model), fitted.seconds, fitted.compute)
