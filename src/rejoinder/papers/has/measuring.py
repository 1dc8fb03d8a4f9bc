"""Measures trained rows as the bundles that they become, and the costs of untrained ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rejoinder.bundle.folder import open_bundle
from rejoinder.evaluation import evaluate
from rejoinder.evaluation.stored_answers import AnswerCost, list_texts, measure_costs, store_texts
from rejoinder.models.has.export import write_has
from rejoinder.models.has.module import Has, load_has
from rejoinder.models.has.scorer import HasScorer
from rejoinder.models.ranker.relatedness import RelatednessScorer, WeightedSum
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.files import load_published_vectors
from rejoinder.models.static_vectors.vectors import StaticVectors, load_vectors
from rejoinder.papers.has import tables
from rejoinder.papers.has.tables import RELATED, HasRow, HasTable, HasTableOptions, set_rows
from rejoinder.papers.ingredients import Ingredients
from rejoinder.papers.table import round_values
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.training.fit import Fitted
from rejoinder.training.mixing import Part
from rejoinder.types import Example

_write = partial(write_has, training={})
SHARES = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Weights of relatedness beside HAS; the best on dev is used."""
PARITY_TEXTS = 60
ON_DEV = "dev MAP"
"""Measured in addition to the table's measures, which are on test."""


@dataclass(frozen=True, slots=True)
class HasData:
    """The examples of a table."""

    train: Sequence[Part]
    dev: Sequence[Example]
    test: Sequence[Example]
    second_test: Sequence[Example] = ()


Trained = tuple[Fitted[Has], Tokenizer]
"""A network, and its tokenizer."""


def measure_row(
    table: HasTable, row: HasRow, trained: Trained, data: HasData, options: HasTableOptions
) -> dict[str, list[float]]:
    """Measure a row as a bundle, on answers read from a store that was reopened."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        sample = list_texts(data.train[0].take(PARITY_TEXTS))[:PARITY_TEXTS]
        fitted, tokenizer = trained
        precision = options.bundle_precision
        _write(place / "bundle", fitted.model, tokenizer, precision=precision, sample=sample)
        dev: Scorer = _store(place, data.dev, "dev")
        test: Scorer = _store(place, data.test, "test")
        second: Scorer = _store(place, data.second_test, "second") if data.second_test else test
        if row.name.endswith(RELATED):
            related = RelatednessScorer(_load_vectors(options.ingredients.vectors, data))
            share = _choose_share(dev, related, data.dev)
            dev, test, second = (WeightedSum(one, related, share) for one in (dev, test, second))
        seconds = {}
        if data.second_test:
            means = evaluate(second, data.second_test, measures=table.measures).values
            seconds = dict(zip(table.second_measures, means.values(), strict=True))
        values = {
            **evaluate(test, data.test, measures=table.measures).values,
            **seconds,
            ON_DEV: evaluate(dev, data.dev, measures=["MAP"]).values["MAP"],
        }
    return round_values(values)


def _load_vectors(path: Path | None, data: HasData) -> StaticVectors:
    """Return the shipped vectors, a bundle's, or those of a file for the measured questions."""
    if path is None or path.is_dir():
        return load_vectors(path) if path else load_vectors()
    return load_published_vectors(path, [*data.dev, *data.test, *data.second_test])


def _store(place: Path, examples: Sequence[Example], name: str) -> HasScorer:
    scorer = HasScorer(open_bundle(place / "bundle"))
    return scorer.bind(store_texts(place / name, scorer.sidecar, list_texts(examples)))


def _choose_share(scorer: Scorer, related: RelatednessScorer, dev: Sequence[Example]) -> float:
    means = {
        share: evaluate(WeightedSum(scorer, related, share), dev, measures=["MAP"]).means["MAP"]
        for share in SHARES
    }
    return max(means, key=means.__getitem__)


def measure_untrained(precision: str, encoder: str | None = None) -> list[AnswerCost]:
    """Measure the costs of untrained networks of each shape, over the table's encoder or this."""
    with TemporaryDirectory() as place:
        bundles = {}
        for row in set_rows(tables.TABLES[0], Ingredients(encoder=encoder)):
            if not row.name.endswith(RELATED):
                bundles[row.name] = Path(place, row.name)
                _write(bundles[row.name], *load_has(row.config), precision=precision, sample=[])
        return list(measure_costs(bundles))
