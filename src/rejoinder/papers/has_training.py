"""Trains the rows of a HAS table once per seed, and measures each from its reopened store."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from rejoinder.bundle.folder import open_bundle
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.evaluation import evaluate
from rejoinder.evaluation.stored_texts import list_texts, store_texts
from rejoinder.models.has.export import write_has
from rejoinder.models.has.module import Has, HasConfig, load_has
from rejoinder.models.has.scorer import HasScorer
from rejoinder.models.ranker.module.ranker import count_parameters
from rejoinder.models.ranker.relatedness import RelatednessScorer, WeightedSum
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.papers.gains import Gain, measure_gain
from rejoinder.papers.has_tables import RELATED, HasRow, HasTable
from rejoinder.papers.reproduction import Run
from rejoinder.papers.sequential import build_lists
from rejoinder.training.checkpoint import keep_checkpoint
from rejoinder.training.fit import Fitted, Plan
from rejoinder.training.has import RECIPE, fit_has
from rejoinder.training.loop import Recipe, Step
from rejoinder.training.mixing import Part
from rejoinder.types import Example

SHARES = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Of relatedness beside HAS; the best on dev is taken."""
PARITY_TEXTS = 60
ON_DEV = "dev MAP"
"""Measured beside the table's own measures, which are on test."""

OnStep = Callable[[HasRow, int, Step], None]


@dataclass(frozen=True, slots=True)
class HasData:
    """The examples of a table."""

    train: Sequence[Example]
    dev: Sequence[Example]
    test: Sequence[Example]


@dataclass(frozen=True, slots=True)
class _Trained:
    """A network, and all that it depends on."""

    config: HasConfig
    recipe: Recipe
    fitted: Fitted[Has]
    vocabulary: Sequence[str]


def read_data(table: HasTable, folder: Path | None) -> HasData:
    """Return what a table is trained and tested on; questions without an answer are left out.

    Raises:
        MissingDataError: a data set's files are not on this machine.
    """
    train, dev, test = (_read(choice, folder) for choice in (table.train, table.dev, table.test))
    if table.pool:
        test = build_lists(test, size=table.pool, questions=table.test_questions or len(test))
    return HasData(
        _spread_out(train, table.train_questions or len(train)),
        _spread_out(dev, table.dev_questions),
        test,
    )


def choose_recipe(table: HasTable, epochs: int | None, learning_rate: float | None) -> Recipe:
    """Return the recipe of a table, with what the user wants otherwise."""
    return replace(
        RECIPE,
        epochs=epochs or table.epochs,
        learning_rate=learning_rate or RECIPE.learning_rate,
    )


def run_rows(
    table: HasTable,
    rows: Sequence[HasRow],
    recipe: Recipe,
    *,
    seeds: int,
    read: Callable[[], HasData],
    precision: str = "int8",
    done: Sequence[Run] = (),
    beside: Path | None = None,
    on_step: OnStep = lambda *_: None,
) -> Iterator[Run]:
    """Yield the runs of a table; those that are done already come first, as they are.

    Args:
        read: gives the data, and is only called where something is left to do.
        beside: keep the checkpoint of the training under way beside this file.
    """
    name = _name_runs(table, recipe, precision)
    measures = {*table.measures, ON_DEV}
    have = {
        (run.row, run.seed): run
        for run in done
        if run.table == name and measures <= run.values.keys()
    }
    wanted = [(row, seed) for seed in range(seeds) for row in rows]
    yield from (have[row.name, seed] for row, seed in wanted if (row.name, seed) in have)
    left = [(row, seed) for row, seed in wanted if (row.name, seed) not in have]
    if not left:
        return
    data = read()
    last: _Trained | None = None
    for row, seed in left:
        seeded = replace(recipe, seed=seed)
        with _keep_checkpoint(beside, table, row, seed) as checkpoint:
            if last is None or (last.config, last.recipe) != (row.config, seeded):
                # Else only what is measured differs.
                last = _train(row, seeded, data, checkpoint, on_step)
            values = _measure(table, row, last, data, precision)
            weights = count_parameters(last.fitted.model)
            yield Run(name, row.name, seed, weights, round(last.fitted.seconds, 2), values)


def measure_gains(table: HasTable, runs: Sequence[Run]) -> list[Gain]:
    """Hold attention against pooling, and HAS and its variants against attention."""
    measure = table.measures[0]
    values: dict[str, list[list[float]]] = {}
    for run in runs:
        values.setdefault(run.row, []).append(run.values[measure])
    pairs = [("attention", "pooling"), ("has", "pooling")]
    pairs += [(row.name, "attention") for row in table.rows if row.name.startswith("has")]
    return [
        measure_gain(row, over, measure, values[row], values[over])
        for row, over in pairs
        if row in values and over in values
    ]


def summarise(row: HasRow, runs: Sequence[Run]) -> dict[str, Any]:
    """Return a row's means and deviations over its seeds, in percent, as plain JSON types."""
    own = [run for run in runs if run.row == row.name]
    values = {name: [100 * fmean(run.values[name]) for run in own] for name in own[0].values}
    return {
        "row": row.name,
        "seeds": len(own),
        "parameters": own[0].parameters,
        "seconds": round(fmean(run.seconds for run in own), 1),
        "published": dict(row.published),
        "measured": {name: round(fmean(found), 2) for name, found in values.items()},
        "deviations": {
            name: round(stdev(found), 2) if len(found) > 1 else 0.0
            for name, found in values.items()
        },
    }


def _keep_checkpoint(
    beside: Path | None, table: HasTable, row: HasRow, seed: int
) -> AbstractContextManager[Path | None]:
    if beside is None:
        return nullcontext()
    return keep_checkpoint(beside.with_name(f"{beside.name}-{table.name}-{row.name}-{seed}"))


def _train(
    row: HasRow, recipe: Recipe, data: HasData, checkpoint: Path | None, on_step: OnStep
) -> _Trained:
    model, vocabulary = load_has(row.config, seed=recipe.seed)
    fitted = fit_has(
        Plan(model.config, recipe, keeps_best=True),
        [Part(data.train)],
        model,
        vocabulary,
        dev=data.dev,
        checkpoint=checkpoint,
        on_step=lambda step: on_step(row, recipe.seed, step),
    )
    return _Trained(row.config, recipe, fitted, vocabulary)


def _name_runs(table: HasTable, recipe: Recipe, precision: str) -> str:
    """Return what tells the runs of a table from those by another recipe."""
    return f"{table.name}, {recipe.epochs} epochs at {recipe.peak:g}, {precision}"


def _measure(
    table: HasTable, row: HasRow, trained: _Trained, data: HasData, precision: str
) -> dict[str, list[float]]:
    """Return what a row reaches on test, and on dev where variants are chosen.

    It is measured as a bundle, with answers read from a store that was reopened.
    """
    with TemporaryDirectory() as folder:
        place = Path(folder)
        write_has(
            place / "bundle",
            trained.fitted.model,
            trained.vocabulary,
            precision=precision,
            training={},
            scores={},
            sample=list_texts(data.train)[:PARITY_TEXTS],
        )
        dev: Scorer = _store(place, data.dev, "dev")
        test: Scorer = _store(place, data.test, "test")
        if row.name.endswith(RELATED):
            related = RelatednessScorer(load_vectors())
            share = _choose_share(dev, related, data.dev)
            dev, test = WeightedSum(dev, related, share), WeightedSum(test, related, share)
        found = {
            **evaluate(test, data.test, measures=table.measures).values,
            ON_DEV: evaluate(dev, data.dev, measures=["MAP"]).values["MAP"],
        }
    return {name: [round(value, 6) for value in values] for name, values in found.items()}


def _store(place: Path, examples: Sequence[Example], name: str) -> HasScorer:
    scorer = HasScorer(open_bundle(place / "bundle"))
    return scorer.bind(store_texts(place / name, scorer.encoder, list_texts(examples)))


def _choose_share(scorer: Scorer, related: RelatednessScorer, dev: Sequence[Example]) -> float:
    found = {
        share: evaluate(WeightedSum(scorer, related, share), dev, measures=["MAP"]).means["MAP"]
        for share in SHARES
    }
    return max(found, key=found.__getitem__)


def _read(choice: str, folder: Path | None) -> list[Example]:
    name, _, split = choice.partition(":")
    examples = open_dataset(name, split=split, folder=folder)
    return [example for example in examples if any(example.labels)]


def _spread_out(examples: Sequence[Example], count: int) -> list[Example]:
    step = max(1, len(examples) // count)
    return list(examples[::step][:count])
