"""The value of context to a selector: Han et al. 2021, Tables 2 and 4, in our setting.

Every row starts from the weights of the shipped selector (Cosinet's from Cosinet's) and is
trained on the same questions by the same recipe; rows differ in the context that they read.  The
shipped selector was trained without context on most of the training questions, and on SelQA's;
that is the same for all rows.  Rows are tested as the bundles that they become.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rejoinder.bundle.folder import open_bundle
from rejoinder.errors import BundleError
from rejoinder.evaluation import evaluate
from rejoinder.models.ranker.export import read_weights, write_ranker
from rejoinder.models.ranker.module.ranker import RankerConfig
from rejoinder.models.registry import list_shipped, open_scorer
from rejoinder.models.selector.export import reopen_selector, write_selector
from rejoinder.models.selector.module import AnySelector
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.papers import context_data
from rejoinder.papers.context_costs import (
    ContextSearch,
    PairLatency,
    measure_latencies,
    measure_search,
)
from rejoinder.papers.context_data import (
    BASE,
    COSINET,
    KEEP,
    ROWS,
    ContextData,
    ContextRow,
    read_data,
)
from rejoinder.papers.table import (
    Gain,
    OnStep,
    PrintedTable,
    Reporter,
    Run,
    Summary,
    TableOptions,
    average,
    choose_rows,
    measure_gain,
    round_values,
    run_rows,
    show_gain,
    summarise,
)
from rejoinder.training.checkpoint import check_target, keep_checkpoint
from rejoinder.training.fit import Plan, describe_training
from rejoinder.training.loop import Recipe, use_threads
from rejoinder.training.mixing import Part
from rejoinder.training.ranker import fit_ranker
from rejoinder.training.selector import DEFAULTS, fit_selector, open_start, read_context

MEASURES = ("P@1", "MAP", "MRR")
PARITY_SAMPLE = 10


@dataclass(frozen=True, slots=True)
class ContextTableOptions(TableOptions):
    """Options of `reproduce_context`."""

    pairs: int = 10_000
    """Pairs that each run is trained on, approximately."""
    to: Path | None = None
    """Folder of trained bundles, which are not trained again."""


@dataclass(frozen=True, slots=True)
class ContextRun(Run):
    """A run whose measures are named by test set and measure, with its scores on long lists."""

    precision: str = ""
    """Of the tested bundle: fp32 where int8 scores were too far off."""
    labels: list[list[bool]] = field(default_factory=list)
    """Per long list, the labels of the candidates that the first stage kept, best first."""
    scores: list[list[float]] = field(default_factory=list)
    """The row's scores of the same candidates."""

    def measure_cascade(self, keep: int) -> list[float]:
        """Return per long list whether the best of the first `keep` candidates is an answer."""
        return [
            float(labels[int(np.argmax(scores[:keep]))])
            for labels, scores in zip(self.labels, self.scores, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Quality:
    """A row on one test set, with its gain in P@1 over the same seeds without context."""

    dataset: str
    summary: Summary[ContextRow]
    gain: Gain | None
    precisions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the quality as plain JSON types."""
        summary = self.summary
        return {
            "row": summary.row.name,
            "published": dict(summary.row.published),
            "dataset": self.dataset,
            "questions": summary.questions,
            "seeds": summary.seeds,
            "means": summary.means,
            "deviations": summary.deviations,
            "gain": asdict(self.gain) if self.gain else None,
            "precisions": self.precisions,
        }


@dataclass(frozen=True, slots=True)
class EqualTime:
    """A row behind a first stage on whole articles, in the time of the row without context."""

    row: str
    seeds: int
    questions: int
    keep: int
    """Candidates that it scores in that time."""
    precision: float
    """P@1 as a percentage."""
    gain: Gain | None


def reproduce_context(
    options: ContextTableOptions, reporter: Reporter | None = None
) -> dict[str, Any]:
    """Train and measure the rows, then their costs; return plain JSON types.

    Raises:
        UnknownNameError: an option names no row.
        MissingDataError: the training data is not here.
        InputError: the folder of bundles cannot be written.
    """
    reporter = reporter or Reporter()
    use_threads(options.threads)
    if options.to:
        check_target(options.to / BASE.name)
    rows = choose_rows(ROWS, options.models, of="context")
    data = cache(lambda: read_data(options.folder, pairs=options.pairs, say=reporter.say))
    runs = train_rows(rows, data, options, reporter)
    quality = summarise_sets(rows, runs)
    selectors = [row for row in rows if row.is_selector]
    timed = [BASE, *(row for row in selectors if row is not BASE)]
    latencies = measure_latencies(timed, data().get_timed())
    searches = measure_search(data().get_timed())
    cascades = compare_at_equal_time(
        selectors, runs, {item.row: item.natural_ms for item in latencies}
    )
    for table in _print(quality, latencies, searches, cascades):
        reporter.show(table)
    return {
        "quality": [item.to_dict() for item in quality],
        "latency": [asdict(item) for item in latencies],
        "construction": [asdict(item) for item in searches],
        "verdict": [asdict(item) for item in cascades],
    }


def train_rows(
    rows: Sequence[ContextRow],
    data: Callable[[], ContextData],
    options: ContextTableOptions,
    reporter: Reporter,
) -> list[ContextRun]:
    """Return one run per row and seed; `data` is only called when a row has to be trained."""
    with TemporaryDirectory() as place:
        trainer = _Trainer(cache(data), options.pairs, options.to or Path(place))
        return run_rows(trainer.table, rows, options, ContextRun, trainer.run, reporter)


@dataclass(frozen=True, slots=True)
class _Trainer:
    """Trains rows into a folder.  A selector that is there already is only tested."""

    data: Callable[[], ContextData]
    pairs: int
    folder: Path

    @property
    def table(self) -> str:
        return f"context, {self.pairs} pairs"

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
            labels=[labels for _, _, labels in data.lists],
            scores=[
                [round(score, 6) for score in scorer.score(question, kept).tolist()]
                for question, kept, _ in data.lists
            ],
        )

    def _make_selector(self, row: ContextRow, seed: int, on_step: OnStep) -> Path:
        start_name = context_data.START
        if not row.is_trained:
            return list_shipped().get(start_name, Path(start_name))
        folder, examples = self._name(row, seed), self.data().train
        training = {
            "data": list(context_data.TRAIN),
            "from": start_name,
            "seed": seed,
            "pairs": self.pairs,
        }
        if _is_kept(folder, training):
            return folder
        start, vocabulary = self._open_start(row, seed, on_step)
        with keep_checkpoint(folder) as checkpoint:
            model = read_context(start, row.form, row.similarity)
            fitted = fit_selector(
                Plan(model.config, Recipe("anchored", 1, 8, 3e-5, seed=seed, **DEFAULTS)),
                [Part(examples)],
                model,
                vocabulary,
                checkpoint=checkpoint,
                on_step=on_step,
            )
            write = partial(
                write_selector,
                folder,
                fitted.model,
                vocabulary,
                training=training,
                scores={},
                sample=examples[:PARITY_SAMPLE],
            )
            try:
                write(precision="int8")
            except BundleError:  # one row that rounds badly must not end a long table
                write(precision="fp32")
        return folder

    def _open_start(
        self, row: ContextRow, seed: int, on_step: OnStep
    ) -> tuple[list[AnySelector], list[str]]:
        """Return the models that a row starts from, and their vocabulary."""
        if row.form == "ensemble":
            parts = [known for known in ROWS if known.form in ("local", "global")]
            opened = [reopen_selector(self._make_selector(part, seed, on_step)) for part in parts]
        else:
            opened = [open_start(context_data.START)]
        return [model for model, _ in opened], opened[0][1]

    def _make_cosinet(self, row: ContextRow, seed: int, on_step: OnStep) -> Path:
        folder, examples, vectors = self._name(row, seed), self.data().train, load_vectors()
        config = RankerConfig(COSINET, vectors.width, "birnn", context=row.name != COSINET)
        plan = Plan(config, Recipe("anchored", seed=seed))
        fitted = fit_ranker(
            plan,
            [Part(examples)],
            vectors,
            start=read_weights(COSINET, config),
            on_step=on_step,
        )
        training = describe_training(plan, fitted, data=list(context_data.TRAIN))
        sample = examples[:PARITY_SAMPLE]
        write_ranker(folder, fitted.model, vectors, training=training, scores={}, sample=sample)
        return folder

    def _name(self, row: ContextRow, seed: int) -> Path:
        return self.folder / f"{row.name.replace('/', '-')}-{seed}"


def _is_kept(folder: Path, training: Mapping[str, Any]) -> bool:
    """Whether the complete bundle of this very training is there."""
    try:
        return open_bundle(folder).manifest.training == training
    except BundleError:
        return False


def summarise_sets(rows: Sequence[ContextRow], runs: Sequence[ContextRun]) -> list[Quality]:
    """Summarise each row on each test set, and compare it with the row without context."""
    results = []
    names = (name for run in runs for name in run.values)
    for dataset in dict.fromkeys(name.rpartition(" ")[0] for name in names):
        measure = f"{dataset} P@1"
        known = [run for run in runs if measure in run.values]

        def get_values(run: ContextRun, measure: str = measure) -> list[float]:
            return run.values[measure]

        for row in rows:
            if own := [run for run in known if run.row == row.name]:
                summary = summarise(row, own, prefix=f"{dataset} ")
                gain = measure_gain(known, row.name, row.base, "P@1", get_values)
                precisions = tuple(sorted({run.precision for run in own}))
                results.append(Quality(dataset, summary, gain, precisions))
    return results


def compare_at_equal_time(
    rows: Sequence[ContextRow], runs: Sequence[ContextRun], cost: Mapping[str, float]
) -> list[EqualTime]:
    """Return P@1 of cascades that take as long as the one without context.

    Args:
        cost: milliseconds per pair, by row.
    """
    known = [run for run in runs if run.labels]
    results = []
    for row in rows:
        keep = max(1, min(KEEP, int(KEEP * cost[BASE.name] / cost[row.name])))
        # Without context there is time for everything that the first stage kept.
        keeps = {row.base: KEEP, row.name: keep}

        def get_values(run: ContextRun, keeps: Mapping[str, int] = keeps) -> list[float]:
            return run.measure_cascade(keeps[run.row])

        if own := [get_values(run) for run in known if run.row == row.name]:
            gain = measure_gain(known, row.name, row.base, "P@1", get_values)
            values = average(own)
            mean = 100 * fmean(values)
            results.append(EqualTime(row.name, len(own), len(values), keep, mean, gain))
    return results


def _print(
    quality: Sequence[Quality],
    latencies: Sequence[PairLatency],
    searches: Sequence[ContextSearch],
    cascades: Sequence[EqualTime],
) -> Iterator[PrintedTable]:
    over = ["P@1 over no context", "95 %", "P@1 published (ASNQ)"]
    for dataset in dict.fromkeys(item.dataset for item in quality):
        own = [item for item in quality if item.dataset == dataset]
        rows = []
        for item in own:
            summary, published = item.summary, item.summary.row.published
            cells = [summary.row.name, str(summary.seeds), "/".join(item.precisions)]
            cells += [*map(summary.show, MEASURES), *show_gain(item.gain)]
            rows.append([*cells, f"{published['P@1']:.1f}" if published else ""])
        title = f"{dataset}: {own[0].summary.questions} questions"
        header = ["context", "seeds", "precision", *MEASURES, *over]
        yield PrintedTable(header, rows, title=title, footer=[""])
    base = latencies[0]
    yield PrintedTable(
        ["context", "tokens", "equal length", "of none", "natural length", "of none"],
        [
            [
                *(item.row, f"{item.tokens:.0f}"),
                *(f"{item.equal_ms:.2f}", f"{item.equal_ms / base.equal_ms:.2f}"),
                *(f"{item.natural_ms:.2f}", f"{item.natural_ms / base.natural_ms:.2f}"),
            ]
            for item in latencies
        ],
        title="milliseconds per pair, one thread, int8",
        footer=[""],
    )
    yield PrintedTable(
        ["similarity", "once a document, ms", "a question, ms", "of the selector's time"],
        [
            [
                *(item.similarity, f"{item.prepare_ms:.1f}"),
                *(f"{item.find_ms:.1f}", f"{100 * item.share:.1f} %"),
            ]
            for item in searches
        ],
        title="finding the context of 100 candidates of one article",
        footer=[""],
    )
    yield PrintedTable(
        ["context", "seeds", "kept", "P@1", "over none", "95 %"],
        [
            [
                *(item.row, str(item.seeds), str(item.keep)),
                *(f"{item.precision:.2f}", *show_gain(item.gain)),
            ]
            for item in cascades
        ],
        title="whole articles, behind a first stage that keeps as many as take equally long",
    )
