"""Trains the rows of the context tables, and tests them as the bundles that they become.

Every row begins with the weights of the shipped selector and is trained on the same questions by
the same recipe; rows differ in what they read around a candidate.  The shipped selector has seen
most of the training questions before, and SelQA's, without context: that is the same for all rows.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rejoinder.errors import BundleError
from rejoinder.evaluation.evaluate import evaluate
from rejoinder.records import Example
from rejoinder.runtime.catalogue import load
from rejoinder.runtime.scorer import Scorer
from rejoinder.runtime.static_vectors import load_vectors
from rejoinder.train.context_data import TRAIN, Data, name_set
from rejoinder.train.context_rows import COSINET, ROWS, Row
from rejoinder.train.context_runs import Run
from rejoinder.train.export import read_weights, write_ranker
from rejoinder.train.export_selector import write_selector
from rejoinder.train.fit import Plan, fit
from rejoinder.train.loop import Recipe, Step
from rejoinder.train.mixing import Part
from rejoinder.train.models.ensemble import AnySelector
from rejoinder.train.models.ranker import RankerConfig, count_parameters
from rejoinder.train.selecting import DEFAULTS, fit_selector, open_start, read_context

START = "selector"
MEASURES = ("P@1", "MAP", "MRR")
PARITY_SAMPLE = 10


def run_rows(
    rows: Sequence[Row],
    data: Callable[[], Data],
    *,
    seeds: int,
    pairs: int,
    done: Sequence[Run] = (),
    to: Path | None = None,
    on_step: Callable[[str, int, Step], None] = lambda *_: None,
) -> Iterator[Run]:
    """Yield the runs of the rows; those that are done already come first, as they are.

    Args:
        data: read only when something is still to be trained.
        to: keep every bundle in this folder.
    """
    have = {(run.row, run.seed, run.pairs): run for run in done}
    trainer = _Trainer(data, on_step)
    for row in rows:
        for seed in range(seeds if row.has_seeds else 1):
            found = have.get((row.name, seed, pairs))
            yield found or trainer.run(row, seed, pairs, to)


class _Trainer:
    """Trains rows, and remembers the two that an ensemble begins with."""

    def __init__(self, data: Callable[[], Data], on_step: Callable[[str, int, Step], None]) -> None:
        self._read = data
        self._data: Data | None = None
        self._on_step = on_step
        self._members: dict[tuple[str, int], AnySelector] = {}
        self._vocabulary: list[str] = []
        self._seconds = 0.0

    def run(self, row: Row, seed: int, pairs: int, to: Path | None) -> Run:
        self._data = self._data or self._read()
        self._seconds = 0.0
        with TemporaryDirectory() as place:
            folder = (to or Path(place)) / f"{row.name.replace('/', '-')}-{seed}"
            write = self._write_selector if row.is_selector else self._write_cosinet
            parameters, precision = write(row, seed, self._data.train, folder)
            values, scores = _test(load(folder), self._data)
        labels = [labels for _, _, labels in self._data.lists]
        return Run(
            row.name,
            seed,
            pairs,
            parameters,
            round(self._seconds, 1),
            precision,
            values,
            labels,
            scores,
        )

    def _write_selector(
        self, row: Row, seed: int, examples: list[Example], folder: Path
    ) -> tuple[int, str]:
        """Train and write a row; return how many weights it has, and its precision."""
        model = self._train(row, seed, examples)
        write = partial(
            write_selector,
            folder,
            model,
            self._vocabulary,
            training={"data": [name_set(*part) for part in TRAIN], "from": START, "seed": seed},
            scores={},
            sample=examples[:PARITY_SAMPLE],
        )
        try:
            write(precision="int8")
        except BundleError:  # a long table does not end for one row that rounds badly
            write(precision="fp32")
            return count_parameters(model), "fp32"
        return count_parameters(model), "int8"

    def _write_cosinet(
        self, row: Row, seed: int, examples: list[Example], folder: Path
    ) -> tuple[int, str]:
        vectors = load_vectors()
        config = RankerConfig(COSINET, vectors.width, "birnn", context=row.name != COSINET)
        plan = Plan(config, Recipe("anchored", seed=seed))
        fitted = fit(
            plan,
            [Part(examples)],
            vectors,
            start=read_weights(COSINET, config),
            on_step=lambda step: self._on_step(row.name, seed, step),
        )
        self._seconds += fitted.seconds
        data = [name_set(*part) for part in TRAIN]
        sample = examples[:PARITY_SAMPLE]
        write_ranker(folder, plan, fitted, vectors, data=data, scores={}, sample=sample)
        return count_parameters(fitted.model), "fp32"

    def _train(self, row: Row, seed: int, examples: list[Example]) -> AnySelector:
        if (row.name, seed) in self._members:
            return self._members[row.name, seed]
        if row.form == "ensemble":
            parts = [known for known in ROWS if known.form in ("local", "global")]
            start = [self._train(part, seed, examples) for part in parts]
        else:
            model, self._vocabulary = open_start(START)
            start = [model]
        model = read_context(start, row.form, row.similarity)
        recipe = Recipe("anchored", 1, 8, 3e-5, seed=seed, **DEFAULTS)
        fitted = fit_selector(
            Plan(model.config, recipe),
            [Part(examples)],
            model,
            self._vocabulary,
            on_step=lambda step: self._on_step(row.name, seed, step),
        )
        self._seconds += fitted.seconds
        if row.form in ("local", "global"):
            self._members[row.name, seed] = fitted.model
        return fitted.model


def _test(
    scorer: Scorer, data: Data
) -> tuple[dict[str, dict[str, list[float]]], list[list[float]]]:
    """Return what a scorer reaches on each test set, and its scores on the long lists."""
    values = {}
    for name, examples in data.tests.items():
        report = evaluate(scorer, examples, measures=MEASURES)
        values[name] = {
            key: [round(one, 6) for one in found] for key, found in report.values.items()
        }
    scores = [
        [round(score, 6) for score in scorer.score(question, kept).tolist()]
        for question, kept, _ in data.lists
    ]
    return values, scores
