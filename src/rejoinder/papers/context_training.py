"""Trains the rows of the context tables, and tests them as the bundles that they become.

Every row begins with the weights of the shipped selector and is trained on the same questions by
the same recipe; rows differ in what they read around a candidate.  The shipped selector has seen
most of the training questions before, and SelQA's, without context: that is the same for all rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rejoinder.bundle.folder import open_bundle
from rejoinder.errors import BundleError
from rejoinder.evaluation import evaluate
from rejoinder.models.ranker.export import read_weights, write_ranker
from rejoinder.models.ranker.module.ranker import RankerConfig
from rejoinder.models.registry import list_shipped, open_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.models.selector.export import reopen_selector, write_selector
from rejoinder.models.selector.module.ensemble import AnySelector
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.papers.context_data import TRAIN, Data, name_set
from rejoinder.papers.context_rows import COSINET, ROWS, Row
from rejoinder.papers.context_runs import Run
from rejoinder.training.checkpoint import keep_checkpoint
from rejoinder.training.fit import Plan, describe_training
from rejoinder.training.loop import Recipe, Step
from rejoinder.training.mixing import Part
from rejoinder.training.ranker import fit_ranker
from rejoinder.training.selector import DEFAULTS, fit_selector, open_start, read_context

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
        to: keep every bundle in this folder, and go on from those that are there.
    """
    have = {(run.row, run.seed, run.pairs): run for run in done}
    with TemporaryDirectory() as place:
        trainer = _Trainer(data, pairs, to or Path(place), on_step)
        for row in rows:
            for seed in range(seeds if row.has_seeds else 1):
                yield have.get((row.name, seed, pairs)) or trainer.run(row, seed)


class _Trainer:
    """Trains rows into a folder.  A selector that is there already is only tested."""

    def __init__(
        self,
        data: Callable[[], Data],
        pairs: int,
        folder: Path,
        on_step: Callable[[str, int, Step], None],
    ) -> None:
        self._data = cache(data)
        self._pairs = pairs
        self._folder = folder
        self._on_step = on_step

    def run(self, row: Row, seed: int) -> Run:
        data = self._data()
        folder = (self._make_selector if row.is_selector else self._make_cosinet)(row, seed)
        values, scores = _test(open_scorer(folder), data)
        labels = [labels for _, _, labels in data.lists]
        precision = open_bundle(folder).manifest.precision
        return Run(row.name, seed, self._pairs, precision, values, labels, scores)

    def _make_selector(self, row: Row, seed: int) -> Path:
        if not row.is_trained:
            return list_shipped().get(START, Path(START))
        folder = self._name(row, seed)
        training = {"data": _name_data(), "from": START, "seed": seed, "pairs": self._pairs}
        if _is_kept(folder, training):
            return folder
        start, vocabulary = self._begin(row, seed)
        with keep_checkpoint(folder) as checkpoint:
            model = read_context(start, row.form, row.similarity)
            fitted = fit_selector(
                Plan(model.config, Recipe("anchored", 1, 8, 3e-5, seed=seed, **DEFAULTS)),
                [Part(self._data().train)],
                model,
                vocabulary,
                checkpoint=checkpoint,
                on_step=lambda step: self._on_step(row.name, seed, step),
            )
            write = partial(
                write_selector,
                folder,
                fitted.model,
                vocabulary,
                training=training,
                scores={},
                sample=self._data().train[:PARITY_SAMPLE],
            )
            try:
                write(precision="int8")
            except BundleError:  # a long table does not end for one row that rounds badly
                write(precision="fp32")
        return folder

    def _begin(self, row: Row, seed: int) -> tuple[list[AnySelector], list[str]]:
        """Return what a row begins with, and its word pieces: an ensemble with two other rows."""
        if row.form == "ensemble":
            parts = [known for known in ROWS if known.form in ("local", "global")]
            found = [reopen_selector(self._make_selector(part, seed)) for part in parts]
        else:
            found = [open_start(START)]
        return [model for model, _ in found], found[0][1]

    def _make_cosinet(self, row: Row, seed: int) -> Path:
        folder, examples, vectors = self._name(row, seed), self._data().train, load_vectors()
        config = RankerConfig(COSINET, vectors.width, "birnn", context=row.name != COSINET)
        plan = Plan(config, Recipe("anchored", seed=seed))
        fitted = fit_ranker(
            plan,
            [Part(examples)],
            vectors,
            start=read_weights(COSINET, config),
            on_step=lambda step: self._on_step(row.name, seed, step),
        )
        sample = examples[:PARITY_SAMPLE]
        write_ranker(
            folder,
            fitted.model,
            vectors,
            training=describe_training(plan, fitted, data=_name_data()),
            scores={},
            sample=sample,
        )
        return folder

    def _name(self, row: Row, seed: int) -> Path:
        return self._folder / f"{row.name.replace('/', '-')}-{seed}"


def _is_kept(folder: Path, training: Mapping[str, Any]) -> bool:
    """Whether the bundle of this very training is there, whole."""
    try:
        return open_bundle(folder).manifest.training == training
    except BundleError:
        return False


def _name_data() -> list[str]:
    return [name_set(*part) for part in TRAIN]


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
