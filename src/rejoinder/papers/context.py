"""The value of context to a selector: Han et al. 2021, Tables 2 and 4, in our setting.

Every row starts from the weights of the shipped selector (Cosinet's from Cosinet's) and is
trained on the same questions by the same recipe; rows differ in the context that they read.  The
shipped selector was trained without context on most of the training questions, and on SelQA's;
that is the same for all rows.  Rows are tested as the bundles that they become.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from math import inf
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rejoinder.bundle.folder import open_bundle
from rejoinder.errors import BundleError
from rejoinder.evaluation import evaluate
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.models.registry import list_shipped, open_scorer
from rejoinder.papers import context_costs, context_data
from rejoinder.papers.context_costs import ContextSearch, PairLatency
from rejoinder.papers.context_data import BASE, COSINET, KEEP, ROWS, ContextData, ContextRow
from rejoinder.papers.examples import describe_source
from rejoinder.papers.ingredients import (
    Ingredients,
    checksum,
    describe_pretraining,
    label_bundle,
    label_encoder,
    show_ingredients,
)
from rejoinder.papers.table import (
    SILENT,
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
    start_training,
    summarise,
)
from rejoinder.training.checkpoint import check_target
from rejoinder.training.options import RankerOptions, SelectorOptions
from rejoinder.training.ranker import train_ranker
from rejoinder.training.selector import train_selector

MEASURES = ("P@1", "MAP", "MRR")
PAIRS = 10_000


@dataclass(frozen=True, slots=True)
class ContextTableOptions(TableOptions):
    """Options of `reproduce_context`."""

    pairs: int | None = None
    """Pairs that each run is trained on, approximately; by default 10,000, and all of them by
    the paper's recipe."""
    test_pairs: float = context_data.TEST_PAIRS
    """Pairs of each test set, approximately; infinite for all."""
    to: Path | None = None
    """Folder of trained bundles, which are not trained again."""

    @property
    def table(self) -> str:
        """The name of the table in journals: runs on other pairs are other runs."""
        pairs, tested = (
            "all" if count == inf else count for count in (self.most_pairs, self.test_pairs)
        )
        own = "" if tested == context_data.TEST_PAIRS else f", {tested} pairs of each test set"
        return f"context, {pairs} pairs{own}"

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


@dataclass(frozen=True, slots=True)
class Quality:
    """A row on one test set, with its gain in P@1 over the same seeds without context."""

    dataset: str
    summary: Summary[ContextRow]
    gain: Gain | None
    precisions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the quality as plain JSON types."""
        fields = asdict(self)
        summary = fields.pop("summary")
        row = summary.pop("row")
        names = ("questions", "seeds", "means", "deviations", "ingredients")
        numbers = {name: summary[name] for name in names}
        return {"row": row["name"], "published": row["published"], **numbers, **fields}


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


def reproduce_context(options: ContextTableOptions, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Train and measure the rows, then their costs; return plain JSON types.

    Raises:
        RejoinderError: an option names no row, data is not here, or bundles cannot be written.
    """
    start_training(options)
    if options.to:
        check_target(options.to / BASE.name)
    rows = choose_rows(set_rows(options.ingredients), options.models, of="context")
    training = options.ingredients.train or context_data.TRAIN
    data = cache(
        lambda: context_data.read_data(
            options.folder,
            options.most_pairs,
            reporter.say,
            training,
            test_pairs=options.test_pairs,
        )
    )
    runs = train_rows(rows, data, options, reporter)
    quality = summarise_sets(rows, runs)
    selectors = [row for row in rows if row.is_selector]
    timed = [BASE, *(row for row in selectors if row is not BASE)]
    start = context_data.name_start(options.ingredients)
    bundle, encoder = start
    start_label = {"encoder": label_bundle(bundle) if bundle else label_encoder(encoder)}
    latencies = context_costs.measure_latencies(timed, data().get_timed(), start)
    searches = context_costs.measure_search(data().get_timed(), start)
    cost = {item.row: item.natural_ms for item in latencies}
    cascades = compare_at_equal_time(selectors, runs, cost)
    pretraining = describe_pretraining(item.summary.ingredients for item in quality)
    costs = _print_costs(latencies, searches, cascades, show_ingredients(start_label))
    describe = partial(_describe_set, runs=runs, folder=options.folder)
    for table in (*_print_quality(quality, pretraining, describe), *costs):
        reporter.show(table)
    return {
        "quality": [item.to_dict() for item in quality],
        "tests": {name: describe(name) for name in dict.fromkeys(q.dataset for q in quality)},
        "pretraining": pretraining,
        "latency": [{**asdict(item), "ingredients": start_label} for item in latencies],
        "construction": [{**asdict(item), "ingredients": start_label} for item in searches],
        "verdict": [asdict(item) for item in cascades],
    }


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
            return list_shipped().get(context_data.START, Path(context_data.START))
        folder, ingredients = self._name(row, seed), self.options.ingredients
        command = self._get_command(row)
        if _is_kept(folder, {"command": command, "seed": seed}):
            return folder
        start, encoder = context_data.name_start(ingredients)
        starts = [start] if start else []
        if row.form == "ensemble":
            parts = (one for one in set_rows(ingredients) if one.form in ("local", "global"))
            starts = [str(self._make_selector(part, seed, on_step)) for part in parts]
        options = SelectorOptions(
            to=folder,
            start=starts,
            encoder=encoder,
            context=row.form,
            similarity=row.similarity,
            loss="pointwise" if ingredients.is_paper else None,
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


def set_rows(ingredients: Ingredients) -> list[ContextRow]:
    """Return the rows; by the paper's recipe those of the paper, with its similarity."""
    if not ingredients.is_paper:
        return list(ROWS)
    rows = [row for row in ROWS if row.published]
    return [
        row if row.similarity == "ngrams" else replace(row, similarity="encoder") for row in rows
    ]


def get_own_ingredients(row: ContextRow, *, is_paper: bool) -> dict[str, str]:
    """Return what a row is made of by itself; "" is anything."""
    if not row.is_trained:
        return {"start": label_bundle(context_data.START)}
    if not row.is_selector:
        start = {"start": label_bundle(COSINET)}
    else:
        start = {"encoder": DEFAULT if is_paper else label_bundle(context_data.START)}
    train = " + ".join(context_data.TRAIN)
    return {**start, "train": train, "recipe": "default", "device": "", "precision": ""}


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


def summarise_sets(rows: Sequence[ContextRow], runs: Sequence[ContextRun]) -> list[Quality]:
    """Summarise each row on each test set, and compare it with the row without context."""
    results = []
    names = (name for run in runs for name in run.values)
    for dataset in dict.fromkeys(name.rpartition(" ")[0] for name in names):
        prefix = f"{dataset} "
        known = [run for run in runs if f"{prefix}P@1" in run.values]
        for row in rows:
            if own := [run for run in known if run.row == row.name]:
                summary = summarise(row, own, prefix=prefix)
                gain = measure_gain(known, row.name, row.base, "P@1", prefix=prefix)
                precisions = tuple(sorted({run.precision for run in own}))
                results.append(Quality(dataset, summary, gain, precisions))
    return results


def compare_at_equal_time(
    rows: Sequence[ContextRow], runs: Sequence[ContextRun], cost: Mapping[str, float]
) -> list[EqualTime]:
    """Return P@1 of cascades that take as long as the one without context.

    `cost` is the milliseconds per pair, by row.
    """
    known = [run for run in runs if run.labels]
    results = []
    for row in rows:
        keep = max(1, min(KEEP, int(KEEP * (cost[BASE.name] / cost[row.name]))))
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


def _describe_set(dataset: str, *, runs: Sequence[ContextRun], folder: Path | None) -> str:
    """Return the tested pairs of a set, and how its files differ from the paper's."""
    pairs = next((run.pairs[dataset] for run in runs if dataset in run.pairs), None)
    counted = "" if pairs is None else f"{pairs:,} pairs"
    return "; ".join(filter(None, (counted, describe_source(dataset, folder))))


def _print_quality(
    quality: Sequence[Quality], pretraining: Sequence[str], describe: Callable[[str], str]
) -> Iterator[PrintedTable]:
    over = ["P@1 over no context", "95 %", "P@1 published (ASNQ)", "ingredients"]
    for dataset in dict.fromkeys(item.dataset for item in quality):
        own = [item for item in quality if item.dataset == dataset]
        rows = []
        for item in own:
            summary, published = item.summary, item.summary.row.published
            cells = [summary.row.name, str(summary.seeds), "/".join(item.precisions)]
            cells += [*map(summary.show, MEASURES), *show_gain(item.gain)]
            cells.append(f"{published['P@1']:.1f}" if published else "")
            rows.append([*cells, show_ingredients(summary.ingredients)])
        counted = f"{own[0].summary.questions} questions"
        title = f"{dataset}: {', '.join(filter(None, (counted, describe(dataset))))}"
        header = ["context", "seeds", "precision", *MEASURES, *over]
        yield PrintedTable(header, rows, title=title, footer=pretraining)


def _print_costs(
    latencies: Sequence[PairLatency],
    searches: Sequence[ContextSearch],
    cascades: Sequence[EqualTime],
    start: str,
) -> Iterator[PrintedTable]:
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
        title=f"milliseconds per pair, one thread, int8, {start}",
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
        title=f"finding the context of 100 candidates of one article, {start}",
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
