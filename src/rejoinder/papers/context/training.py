"""Trains the rows, and tests them as the bundles that they become."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rejoinder.bundle.folder import open_bundle
from rejoinder.errors import BundleError
from rejoinder.evaluation import evaluate
from rejoinder.models.registry import find_bundle, open_scorer
from rejoinder.papers.context import rows as context_rows
from rejoinder.papers.context.data import TEST_PAIRS, ContextData, DataChoice
from rejoinder.papers.context.rows import (
    COSINET,
    GLOBAL,
    LOCAL,
    ContextRow,
    get_own_ingredients,
    name_start,
    set_rows,
)
from rejoinder.papers.ingredients import checksum, label_data
from rejoinder.papers.table import OnStep, Reporter, Run, TableOptions, round_values, run_rows
from rejoinder.training.batches import MAX_CANDIDATES
from rejoinder.training.options import RankerOptions, SelectorOptions
from rejoinder.training.ranker import train_ranker
from rejoinder.training.selector import train_selector

MEASURES = ("P@1", "MAP", "MRR")
PAIRS = 10_000
"""Pairs that a row is trained on by the default recipe."""


@dataclass(frozen=True, slots=True)
class ContextTableOptions(TableOptions):
    """Options of `reproduce_context`."""

    pairs: int | None = None
    """Pairs that each run is trained on, approximately; by default 10,000, and all of them by
    the paper's recipe."""
    test_pairs: float = TEST_PAIRS
    """Pairs of each test set, approximately; infinite for all."""
    test: Sequence[str] = ()
    """Data sets and files to test on; by default the table's own sets."""
    costs: bool | None = None
    """Whether time and memory are measured: True is only them, without training."""
    to: Path | None = None
    """Folder of trained bundles, which are not trained again."""

    @property
    def table(self) -> str:
        """The name of the table in journals: runs on other pairs are other runs."""
        pairs, tested = (
            "all" if count == inf else count for count in (self.most_pairs, self.test_pairs)
        )
        own = "" if tested == TEST_PAIRS else f", {tested} pairs of each test set"
        sets = f", tested on {label_data(self.test)}" if self.test else ""
        return f"context, {pairs} pairs{own}{sets}"

    @property
    def data(self) -> DataChoice:
        """Which questions are read."""
        return DataChoice(
            self.most_pairs, self.test_pairs, self.ingredients.train, self.test, self.folder
        )

    @property
    def most_pairs(self) -> float:
        """The number of pairs, infinite for all of them."""
        own = inf if self.ingredients.is_paper else PAIRS
        return own if self.pairs is None else self.pairs


@dataclass(frozen=True, slots=True)
class ContextRun(Run):
    """A run whose measures are named by test set and measure, with its scores on long lists."""

    precision: str = ""
    """Of the tested bundle: fp32 where int8 scores were too far off."""
    labels: list[list[bool]] = field(default_factory=list)
    """Per long list, the labels of the candidates that the first stage kept, best first."""
    scores: list[list[float]] = field(default_factory=list)
    """The row's scores of the same candidates."""
    pairs: dict[str, int] = field(default_factory=dict)
    """Tested pairs by test set; empty in journals from before it was recorded."""

    def measure_cascade(self, keep: int) -> list[float]:
        """Return per long list whether the best of the first `keep` candidates is an answer."""
        return [
            float(labels[int(np.argmax(scores[:keep]))])
            for labels, scores in zip(self.labels, self.scores, strict=True)
        ]


def train_rows(
    rows: Sequence[ContextRow],
    data: Callable[[], ContextData],
    options: ContextTableOptions,
    reporter: Reporter,
) -> list[ContextRun]:
    """Return one run per row and seed; `data` is only called when a row has to be trained."""
    name = options.table
    with TemporaryDirectory() as place:
        trainer = _Trainer(name, cache(data), options, options.to or Path(place))
        get_own = partial(get_own_ingredients, is_paper=options.ingredients.is_paper)
        return run_rows(name, rows, options, ContextRun, trainer.run, reporter, get_own=get_own)


@dataclass(frozen=True, slots=True)
class _Trainer:
    """Trains rows into a folder.  A selector that is there already is only tested."""

    table: str
    data: Callable[[], ContextData]
    options: ContextTableOptions
    folder: Path

    def run(self, row: ContextRow, seed: int, on_step: OnStep) -> ContextRun:
        data = self.data()
        make = self._make_selector if row.is_selector else self._make_cosinet
        folder = make(row, seed, on_step)
        scorer = open_scorer(folder)
        values: dict[str, list[float]] = {}
        for dataset, examples in data.tests.items():
            report = evaluate(scorer, examples, measures=MEASURES)
            values |= {f"{dataset} {name}": list_ for name, list_ in report.values.items()}
        return ContextRun(
            self.table,
            row.name,
            seed,
            round_values(values),
            precision=open_bundle(folder).manifest.precision,
            pairs={
                name: sum(len(item.candidates) for item in examples)
                for name, examples in data.tests.items()
            },
            ingredients=_read_compute(folder) if row.is_trained else {},
            labels=[labels for _, _, labels in data.lists],
            scores=[
                [round(score, 6) for score in scorer.score(question, kept).tolist()]
                for question, kept, _ in data.lists
            ],
        )

    def _make_selector(self, row: ContextRow, seed: int, on_step: OnStep) -> Path:
        if not row.is_trained:
            return find_bundle(context_rows.START)
        folder, ingredients = self._name(row, seed), self.options.ingredients
        command = self._get_command(row)
        if _is_kept(folder, {"command": command, "seed": seed}):
            return folder
        start = name_start(ingredients)
        starts = [start.bundle] if start.bundle else []
        if row.form == "ensemble":
            names = (LOCAL.name, GLOBAL.name)
            parts = [one for one in set_rows(ingredients) if one.name in names]
            starts = [str(self._make_selector(part, seed, on_step)) for part in parts]
        options = SelectorOptions(
            to=folder,
            start=starts,
            encoder=start.encoder,
            recipe=start.recipe,
            context=row.form,
            similarity=row.similarity,
            attention=row.attention,
            max_candidates=MAX_CANDIDATES,
            epochs=1,
            questions_per_step=8,
            learning_rate=3e-5,
            seed=seed,
            device=ingredients.device,
            precision=ingredients.precision,
        )
        train = partial(train_selector, data=self.data().parts, on_step=on_step, command=command)
        try:
            train(options)
        except BundleError:  # one row that rounds badly must not end a long table
            train(replace(options, int8=False))  # from the checkpoint of the last step
        return folder

    def _make_cosinet(self, row: ContextRow, seed: int, on_step: OnStep) -> Path:
        options = RankerOptions(
            to=self._name(row, seed),
            model=COSINET,
            loss="anchored",
            start=COSINET,
            context="none" if row.name == COSINET else "neighbours",
            seed=seed,
            device=self.options.ingredients.device,
            precision=self.options.ingredients.precision,
        )
        return train_ranker(options, self.data().parts, on_step=on_step).bundle

    def _get_command(self, row: ContextRow) -> str:
        """Return the command that trains a row, for the manifest."""
        pairs, ingredients = self.options.most_pairs, self.options.ingredients
        words = ["rejoinder", "reproduce", "context", "--models", row.name]
        words += [] if pairs == inf else ["--pairs", str(pairs)]
        words += ["--encoder", ingredients.encoder] if ingredients.encoder else []
        words += [word for name in ingredients.train for word in ("--train", name)]
        words += ["--recipe", ingredients.recipe] if ingredients.is_paper else []
        return shlex.join(words)

    def _name(self, row: ContextRow, seed: int) -> Path:
        """Return the folder of a bundle; other ingredients than the table's own have others."""
        own = get_own_ingredients(row, is_paper=False)
        own = {name: value for name, value in own.items() if value}  # any device will do
        made = self.options.ingredients.apply(own)
        suffix = "" if made == own else f"-{checksum(str(made))}"
        return self.folder / f"{row.name.replace('/', '-')}-{seed}{suffix}"


def _read_compute(folder: Path) -> dict[str, str]:
    """Return where a bundle was trained, and in which precision."""
    training = open_bundle(folder).manifest.training
    return {name: training[name] for name in ("device", "precision")}


def _is_kept(folder: Path, training: Mapping[str, Any]) -> bool:
    """Whether the complete bundle of this very training is there."""
    try:
        return training.items() <= open_bundle(folder).manifest.training.items()
    except BundleError:
        return False
