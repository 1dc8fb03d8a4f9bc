"""The tables of Han et al. 2021 in our form: what context is worth to a selector.

"Modeling Context in Answer Sentence Selection Systems on a Latency Budget", Tables 2 and 4.  Every
row begins with the weights of the shipped selector and is trained on the same questions by the
same recipe; rows differ in what they read around a candidate.  The shipped selector has seen most
of the training questions before, and SelQA's, without context: that is the same for all rows.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rejoinder.data.catalogue import open_dataset
from rejoinder.data.json_objects import read_json_lines
from rejoinder.data.pages import join_pages
from rejoinder.errors import BundleError, InputError, MissingDataError, UnknownNameError
from rejoinder.evaluation.evaluate import evaluate
from rejoinder.metrics.significance import Interval, bootstrap_difference
from rejoinder.records import Candidate, Example
from rejoinder.runtime.catalogue import load
from rejoinder.runtime.scorer import Scorer
from rejoinder.runtime.static_vectors import load_vectors
from rejoinder.train.export import read_weights, write_ranker
from rejoinder.train.export_selector import write_selector
from rejoinder.train.fit import Plan, fit
from rejoinder.train.lists import MAX_CANDIDATES
from rejoinder.train.loop import Recipe, Step
from rejoinder.train.mixing import Part
from rejoinder.train.models.ensemble import AnySelector
from rejoinder.train.models.ranker import RankerConfig, count_parameters
from rejoinder.train.selecting import DEFAULTS, fit_selector, open_start, read_context

MEASURES = ("P@1", "MAP", "MRR")
START = "selector"
TRAIN: tuple[tuple[str, str | None], ...] = (
    ("squad-train-part", "fit"),
    ("squad-v1", "dev-not-in-v2"),
)
SETS: tuple[tuple[str, str | None], ...] = (
    ("squad-train-part", "dev"),
    ("squad-v2", "dev"),
    ("wikiqa", "dev"),
    ("wikiqa", "test"),
    ("selqa", "dev"),
    ("asnq", "dev"),
)
LISTS: tuple[str, str | None] = ("squad-v2", "dev")
"""Whose whole articles a cascade is tried on."""
FIRST = "cosinet"
COSINET = "cosinet"
KEEP = 20
"""Candidates of an article that the selector without context gets from the first stage."""
LIST_QUESTIONS = 300
TEST_PAIRS = 10_000
"""Of each test set; questions are spread evenly over larger ones."""
LEAST_SENTENCES = 20
"""Of a page that is trained on: a shorter one is all neighbours."""
PARITY_SAMPLE = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A selector of the tables, and what the paper's reached on ASNQ."""

    name: str
    form: str
    similarity: str = "static"
    published: Mapping[str, float] = field(default_factory=dict)
    has_seeds: bool = False
    """Whether it is trained with several seeds."""
    base: str = "none"
    """The row that it is held against: the same without context."""

    @property
    def is_selector(self) -> bool:
        """Whether it is a transformer; else it is Cosinet."""
        return self.form != COSINET


ROWS = (
    Row("none", "none", published={"P@1": 59.6, "MAP": 68.5, "MRR": 70.6}, has_seeds=True),
    Row("local", "local", published={"P@1": 65.3, "MAP": 73.2, "MRR": 75.2}, has_seeds=True),
    Row("global", "global", published={"P@1": 62.2, "MAP": 69.8, "MRR": 72.2}),
    Row("concatenation", "concatenation", published={"P@1": 63.1, "MAP": 72.6, "MRR": 74.3}),
    Row("ensemble", "ensemble", published={"P@1": 66.8, "MAP": 74.3, "MRR": 76.5}),
    Row("multi-way", "multi-way", has_seeds=True),
    Row("multi-way/ngrams", "multi-way", "ngrams", {"P@1": 63.8, "MAP": 72.5, "MRR": 74.6}),
    Row("multi-way/encoder", "multi-way", "encoder", {"P@1": 66.1, "MAP": 74.2, "MRR": 75.8}),
    Row("stored", "stored"),
    Row("cosinet", COSINET, base="cosinet"),
    Row("cosinet/context", COSINET, base="cosinet"),
)
BASE = ROWS[0]


@dataclass(frozen=True, slots=True)
class Run:
    """One row trained with one seed, and what it reached with the weights as they are used."""

    row: str
    seed: int
    pairs: int
    parameters: int
    seconds: float
    precision: str
    """Of the bundle that was tested: fp32 where int8 was too far off."""
    values: dict[str, dict[str, list[float]]]
    """Of each test set and measure, one value per question."""
    labels: list[list[bool]]
    """Of each long list, the labels of what the first stage kept, best first."""
    scores: list[list[float]]
    """What this row gave to the same."""

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}

    def measure_cascade(self, keep: int) -> list[float]:
        """Return for each long list whether the best of the first so many is an answer."""
        return [
            float(labels[int(np.argmax(scores[:keep]))])
            for labels, scores in zip(self.labels, self.scores, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Summary:
    """A row on one test set: percentages, and what it has more than no context."""

    row: Row
    dataset: str
    questions: int
    seeds: int
    means: dict[str, float]
    deviations: dict[str, float]
    gain: float | None
    """In P@1, over the same seeds of no context; None for that row itself."""
    interval: Interval | None
    precisions: tuple[str, ...]
    """In which the bundles were tested."""


@dataclass(frozen=True, slots=True)
class Data:
    """What rows are trained and tested on."""

    train: list[Example]
    tests: dict[str, list[Example]]
    lists: list[tuple[str, list[Candidate], list[bool]]]
    """Of long lists the question, what the first stage kept, and which are answers."""


def choose_rows(names: Sequence[str]) -> list[Row]:
    """Return the rows of these names, all where none is given.

    Raises:
        UnknownNameError: no row has this name.
    """
    known = {row.name: row for row in ROWS}
    for name in names:
        if name not in known:
            raise UnknownNameError("row of context", name, known)
    return [row for row in ROWS if not names or row.name in names]


def read_data(folder: Path | None, *, pairs: int, say: Callable[[str], None]) -> Data:
    """Return the examples of all sets that are found; the others are said.

    Raises:
        MissingDataError: nothing to train on, or nothing to test on.
    """
    tests = {}
    for name, split in SETS:
        try:
            examples = join_pages(list(open_dataset(name, split=split, folder=folder)))
        except MissingDataError as error:
            say(f"left out: {error}")
            continue
        tests[name_set(name, split)] = spread(_keep_answered(examples), TEST_PAIRS)
    train = [
        example
        for name, split in TRAIN
        for example in join_pages(list(open_dataset(name, split=split, folder=folder)))
        if len(_get_page(example)) >= LEAST_SENTENCES
    ]
    return Data(
        spread(_keep_answered(train), pairs, most=MAX_CANDIDATES + 1),
        tests,
        _keep_best(tests.get(name_set(*LISTS), []), load(FIRST)),
    )


def name_set(name: str, split: str | None) -> str:
    """Return NAME:SPLIT; a file has no split."""
    return f"{name}:{split}" if split else name


def spread(examples: Sequence[Example], pairs: int, *, most: int | None = None) -> list[Example]:
    """Return about so many pairs, of questions that are spread evenly.

    Args:
        most: how many candidates of a question count.
    """
    sizes = [min(len(item.candidates), most or len(item.candidates)) for item in examples]
    count = max(1, round(len(examples) * min(1.0, pairs / max(1, sum(sizes)))))
    places = np.linspace(0, len(examples) - 1, min(count, len(examples))).round().astype(int)
    return [examples[place] for place in places.tolist()]


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


def summarise(rows: Sequence[Row], runs: Sequence[Run]) -> list[Summary]:
    """Return each row on each test set, held against the same without context."""
    found = []
    for dataset in dict.fromkeys(name for run in runs for name in run.values):
        known = [run for run in runs if dataset in run.values]
        for row in rows:
            own = [run for run in known if run.row == row.name]
            base = {run.seed: run for run in known if run.row == row.base != row.name}
            if own:
                found.append(_summarise(row, dataset, own, base))
    return found


def read_runs(path: Path) -> list[Run]:
    """Return the runs of a results file; none where there is no file yet.

    Raises:
        InputError: the file holds something else.
    """
    if not path.exists():
        return []
    try:
        return [Run(**row.fields) for row in read_json_lines(path)]
    except TypeError as error:
        raise InputError(f"{path}: not a file of runs; give another, or remove it") from error


def append_run(path: Path, run: Run) -> None:
    """Add a run to a results file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(run.to_dict()) + "\n")


def average(runs: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean over seeds of each question."""
    return [fmean(values) for values in zip(*runs, strict=True)]


def _summarise(row: Row, dataset: str, own: list[Run], base: dict[int, Run]) -> Summary:
    means = {name: [100 * fmean(run.values[dataset][name]) for run in own] for name in MEASURES}
    gain, interval = None, None
    paired = [run for run in own if run.seed in base]
    if paired:
        one = average([base[run.seed].values[dataset]["P@1"] for run in paired])
        other = average([run.values[dataset]["P@1"] for run in paired])
        gain, interval = 100 * (fmean(other) - fmean(one)), bootstrap_difference(one, other)
    return Summary(
        row,
        dataset,
        len(own[0].values[dataset]["P@1"]),
        len(own),
        {name: fmean(values) for name, values in means.items()},
        {name: stdev(values) if len(values) > 1 else 0.0 for name, values in means.items()},
        gain,
        interval,
        tuple(sorted({run.precision for run in own})),
    )


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


def _keep_best(
    examples: Sequence[Example], first: Scorer
) -> list[tuple[str, list[Candidate], list[bool]]]:
    """Return what the first stage keeps of the whole article of each question."""
    step = max(1, len(examples) // LIST_QUESTIONS)
    lists = []
    for example in examples[::step][:LIST_QUESTIONS]:
        document = example.candidates[0].document
        right = {
            item.position
            for item, label in zip(example.candidates, example.labels, strict=True)
            if label
        }
        everything = [
            Candidate(str(place), text, document, place)
            for place, text in enumerate(_get_page(example))
        ]
        order = np.argsort(-first.score(example.question, everything), kind="stable")[:KEEP]
        kept = [everything[place] for place in order.tolist()]
        lists.append((example.question, kept, [item.position in right for item in kept]))
    return lists


def _get_page(example: Example) -> Sequence[str]:
    document = example.candidates[0].document if example.candidates else None
    return document.sentences if document else ()


def _keep_answered(examples: Sequence[Example]) -> list[Example]:
    return [example for example in examples if any(example.labels)]
