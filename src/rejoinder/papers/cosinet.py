"""Trained rankers of the Cosinet paper, and selectors beside them.

Bonadiman & Moschitti 2020, Tables 4 (WikiQA), 5 (SQuAD-sent) and 6 (NQ-LA); Matsubara et al.
2020, Table 2 (TREC-QA).  Published values are percentages; published seconds are of their GTX
1080 ti.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.evaluation import Protocol, evaluate
from rejoinder.evaluation.plots import plotting
from rejoinder.models.encoders.loading import DEFAULT, find_encoder
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
from rejoinder.papers.baselines import BASELINES, measure_baseline
from rejoinder.papers.examples import is_large, open_examples
from rejoinder.papers.ingredients import (
    OWN_VECTORS,
    Ingredients,
    describe_pretraining,
    label_bundle,
    show_ingredients,
)
from rejoinder.papers.table import (
    SILENT,
    SOURCES,
    Gain,
    OnStep,
    PrintedTable,
    Reporter,
    Run,
    Summary,
    TableOptions,
    choose_rows,
    find_runs,
    measure_gain,
    round_values,
    run_rows,
    start_training,
    summarise,
)
from rejoinder.training.devices import Compute, choose_compute
from rejoinder.training.fit import Fitted, Plan
from rejoinder.training.loop import Recipe
from rejoinder.training.mixing import Part, join_parts, read_parts
from rejoinder.training.ranker import fit_ranker
from rejoinder.training.selector import ADAPTING, SelectorTorchScorer, fit_selector, open_start
from rejoinder.types import Example

UNSEEN = "unseen"
"""In place of a loss: the shipped weights as they are."""
COSINET, CA, SELECTOR = "cosinet", "compare-aggregate", "selector"
CA_BILSTM = "compare-aggregate-bilstm"
CLASSIFIER = Recipe(
    "pointwise", epochs=3, questions_per_step=4, learning_rate=2e-5, weight_decay=0.01, clip=1.0
)
"""How the papers fine-tune BERT (docs/papers.md says what they leave open)."""
MATSUBARA = Recipe("pointwise", epochs=20, questions_per_step=1, learning_rate=1e-4)
"""Compare-Aggregate of Matsubara et al. 2020, with early stopping; a question of TREC-QA's
train-all has 43 pairs on average, a step of theirs 32."""
PATIENCE = 3


@dataclass(frozen=True, slots=True)
class RankerRow:
    """A small ranker or a selector, trained from new or from shipped weights."""

    model: str
    head: str
    loss: str
    published: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    is_shipped: bool = False
    """Whether training starts from the shipped weights."""

    @property
    def label(self) -> str:
        """The model as tables print it."""
        return f"shipped-{self.model}" if self.is_shipped else self.model

    @property
    def name(self) -> str:
        """Name on the command line and in results."""
        return f"{self.label}/{self.loss}/{self.head}"

    @property
    def is_seeded(self) -> bool:
        """Whether the row is trained; else the shipped weights are measured as they are."""
        return self.loss != UNSEEN

    @property
    def needs_encoder(self) -> bool:
        """Whether training starts from a pretrained encoder, which is not shipped."""
        return self.model.startswith(SELECTOR) and not self.is_shipped

    def get_own(self, train: str) -> dict[str, str]:
        """Return what the row is made of by itself, trained on `train`; "" is anything."""
        if self.is_shipped:
            start = {"start": label_bundle(self.model)}
        else:
            start = {"encoder": DEFAULT} if self.needs_encoder else {"vectors": OWN_VECTORS}
        if not self.is_seeded:
            return start
        return {**start, "train": train, "recipe": "default", "device": "", "precision": ""}

    def to_paper(self) -> "RankerRow":
        """Return the row as the paper trains it; BERT learns pair by pair."""
        return replace(self, loss="pointwise") if self.needs_encoder else self

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain JSON types, without the published percentages."""
        names = {"model": self.label, "head": self.head, "loss": self.loss}
        return {**names, "published_seconds": self.seconds}


@dataclass(frozen=True, slots=True)
class RankerTable:
    """Rows with their training data, test set and measures."""

    name: str
    train: str
    test: str
    measures: tuple[str, ...]
    rows: tuple[RankerRow, ...]
    protocol: str = "answered"
    paper_ca: bool = False
    """Whether its paper is Matsubara et al. 2020, with another Compare-Aggregate."""
    dev: str = ""
    """Where that one's best epoch is chosen."""

    def list_rows(self, ingredients: Ingredients) -> list[RankerRow]:
        """Return the rows; by the paper's recipe those that the paper has."""
        if not ingredients.is_paper:
            return list(self.rows)
        rows = [row.to_paper() for row in self.rows if row.published and not row.is_shipped]
        if self.paper_ca:
            rows = [replace(row, model=CA_BILSTM) if row.model == CA else row for row in rows]
        return rows


def _list_selectors(
    published: Mapping[str, float], seconds: float | None = None
) -> tuple[RankerRow, ...]:
    """Return the rows to compare with BERT-base, and the small model that the selector taught.

    Shipped weights never saw the data set; `anchored` adapts them to it.
    """
    return (
        RankerRow(SELECTOR, "none", "anchored", published, seconds),
        RankerRow(f"{SELECTOR}-3-layers", "none", "anchored"),
        RankerRow(SELECTOR, "none", "anchored", published, seconds, is_shipped=True),
        RankerRow(SELECTOR, "none", UNSEEN, is_shipped=True),
        RankerRow(COSINET, "birnn", "listwise", is_shipped=True),
        RankerRow(COSINET, "birnn", UNSEEN, is_shipped=True),
    )


_WIKIQA = (
    RankerRow(COSINET, "none", "pointwise", {"MAP": 70.95, "MRR": 72.86}, 6),
    RankerRow(COSINET, "none", "listwise", {"MAP": 71.22, "MRR": 73.07}, 5.5),
    RankerRow(COSINET, "rnn", "listwise", {"MAP": 74.78, "MRR": 76.35}, 7.5),
    RankerRow(COSINET, "birnn", "listwise", {"MAP": 75.62, "MRR": 77.13}, 8.9),
    RankerRow(COSINET, "lstm", "listwise", {"MAP": 74.31, "MRR": 75.78}, 7),
    RankerRow(COSINET, "bilstm", "listwise", {"MAP": 75.32, "MRR": 76.85}, 9.5),
    RankerRow(CA, "none", "pointwise", {"MAP": 72.03, "MRR": 73.39}, 19),
    RankerRow(CA, "none", "listwise", {"MAP": 71.43, "MRR": 73.55}, 18),
    RankerRow(CA, "rnn", "listwise", {"MAP": 74.73, "MRR": 76.35}, 20),
    RankerRow(CA, "birnn", "listwise", {"MAP": 74.97, "MRR": 76.44}, 21),
    RankerRow(CA, "lstm", "listwise", {"MAP": 74.82, "MRR": 76.42}, 25),
    RankerRow(CA, "bilstm", "listwise", {"MAP": 74.27, "MRR": 75.74}, 25),
    RankerRow("rel-cnn", "none", "listwise"),
    RankerRow("rel-cnn", "birnn", "listwise"),
    *_list_selectors({"MAP": 81.32, "MRR": 82.50}, 1070),
)
_SQUAD = (
    RankerRow(COSINET, "none", "pointwise", {"P@1": 86.18, "MRR": 91.81}, 107),
    RankerRow(COSINET, "none", "listwise", {"P@1": 85.12, "MRR": 91.16}, 490),
    RankerRow(COSINET, "birnn", "listwise", {"P@1": 86.18, "MRR": 91.97}, 750),
    RankerRow(CA, "none", "pointwise", {"P@1": 85.71, "MRR": 91.49}, 390),
    RankerRow(CA, "none", "listwise", {"P@1": 85.17, "MRR": 90.69}, 1451),
    RankerRow(CA, "birnn", "listwise", {"P@1": 86.32, "MRR": 92.05}, 1710),
    *_list_selectors({"P@1": 92.44, "MRR": 95.62}, 24_600),
)
_NQ_LA = (
    RankerRow(COSINET, "none", "pointwise", {"MAP": 69.74, "MRR": 72.69}, 4380),
    RankerRow(COSINET, "none", "listwise", {"MAP": 68.16, "MRR": 71.06}, 1020),
    RankerRow(COSINET, "birnn", "listwise", {"MAP": 73.28, "MRR": 76.05}, 2040),
    RankerRow(CA, "none", "pointwise", {"MAP": 69.88, "MRR": 72.77}, 20340),
    RankerRow(CA, "none", "listwise", {"MAP": 69.82, "MRR": 72.78}, 7200),
    RankerRow(CA, "birnn", "listwise", {"MAP": 74.21, "MRR": 76.88}, 7800),
)
_TRECQA = (
    RankerRow(COSINET, "none", "pointwise"),
    RankerRow(COSINET, "none", "listwise"),
    RankerRow(CA, "none", "pointwise", {"MAP": 80.4, "MRR": 85.3}),
    RankerRow(CA, "none", "listwise"),
    RankerRow("rel-cnn", "none", "listwise"),
    *_list_selectors({"MAP": 85.7, "MRR": 93.7}),
)
_MAP, _PRECISION = ("MAP", "MRR"), ("P@1", "MRR")
TABLES = {
    "wikiqa": [RankerTable("wikiqa", "wikiqa", "wikiqa:test", (*_MAP, "P@1"), _WIKIQA)],
    "squad": [RankerTable("squad", "squad-train-part", "squad-v2:dev", _PRECISION, _SQUAD)],
    "nq-la": [RankerTable("nq-la", "nq-la", "nq-la:dev", _MAP, _NQ_LA)],
    "trecqa": [
        RankerTable(
            *(f"trecqa-{split}", f"trecqa:{split}", "trecqa:test", _MAP, _TRECQA, "mixed"),
            paper_ca=True,
            dev="trecqa:dev",
        )
        for split in ("train-all", "train")
    ],
}


@dataclass(frozen=True, slots=True)
class RankerTableOptions(TableOptions):
    """Options of `reproduce_rankers`."""

    plot: Path | None = None
    """Plot of quality against training time."""


def reproduce_rankers(
    name: str, options: RankerTableOptions, reporter: Reporter = SILENT
) -> list[dict[str, Any]]:
    """Train and measure the tables of one of `TABLES`; return them as plain JSON types.

    Raises:
        RejoinderError: an option names no row, or a data set is not here.
    """
    start_training(options)
    results = []
    for table in TABLES[name]:
        rows = choose_rows(table.list_rows(options.ingredients), options.models, of=table.name)
        if not options.models:
            rows = _leave_out_missing(table, rows, options, reporter)
        runs = _run_table(table, rows, options, reporter)
        summaries = [summarise(row, runs) for row in rows]
        gains = measure_gains(table, runs)
        baselines = _measure_baselines(table, options.folder, reporter)
        pretraining = describe_pretraining(item.ingredients for item in summaries)
        reporter.show(_print(table, summaries, gains, baselines, pretraining))
        results.append(
            {
                "table": table.name,
                "train": list(options.ingredients.train) or [table.train],
                "test": table.test,
                "protocol": table.protocol,
                "rows": [{**item.row.to_dict(), **item.to_dict()} for item in summaries],
                "gains": [asdict(gain) for gain in gains],
                "baselines": baselines,
                "pretraining": pretraining,
            }
        )
        if options.plot:
            plot_quality_against_time(options.plot, table.measures[0], summaries)
            reporter.say(f"wrote {options.plot}")
    return results


def _leave_out_missing(
    table: RankerTable, rows: Sequence[RankerRow], options: RankerTableOptions, reporter: Reporter
) -> list[RankerRow]:
    """Return the rows without those that start from an encoder that is not on this machine.

    A row whose runs are all in the journal is kept.
    """
    finished = find_runs(table.name, rows, options, Run, get_own=_get_own(table))
    kept = []
    for row in rows:
        is_finished = all((row.name, seed) in finished for seed in range(options.seeds))
        if row.needs_encoder and not is_finished:
            try:
                find_encoder(options.ingredients.encoder or DEFAULT)
            except InputError as error:
                reporter.say(f"left out {row.name}: {error}")
                continue
        kept.append(row)
    return kept


def _get_own(table: RankerTable) -> Callable[[RankerRow], Mapping[str, str]]:
    return lambda row: row.get_own(table.train)


def _run_table(
    table: RankerTable, rows: Sequence[RankerRow], options: RankerTableOptions, reporter: Reporter
) -> list[Run]:
    trainer = RankerTrainer(options.ingredients, table, options.folder)
    read_test = cache(lambda: open_examples(table.test, options.folder))

    def train(row: RankerRow, seed: int, on_step: OnStep) -> Run:
        trained = trainer.train(row, seed, on_step)
        report = evaluate(
            trained.scorer, read_test(), protocol=Protocol(table.protocol), measures=table.measures
        )
        return Run(
            *(table.name, row.name, seed, round_values(report.values)),
            *(trained.parameters, round(trained.seconds, 2)),
            ingredients=trained.describe_compute(),
        )

    return run_rows(
        *(table.name, rows, options, Run, train, reporter),
        get_own=_get_own(table),
        measures=table.measures,
    )


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


def _read_parts(choices: Sequence[str], folder: Path | None) -> list[Part]:
    """Return the training data: in memory for many trainings, large sets as streams."""
    parts = zip(choices, read_parts(choices, folder), strict=True)
    return [part if is_large(choice) else part.load() for choice, part in parts]


class RankerTrainer:
    """Trains the rows of a table from its own ingredients, or from those that are given."""

    def __init__(
        self, ingredients: Ingredients, table: RankerTable, folder: Path | None = None
    ) -> None:
        self._ingredients = ingredients
        self._compute = choose_compute(ingredients.device, ingredients.precision)
        choices = ingredients.train or (table.train,)
        self.read_parts = cache(lambda: _read_parts(choices, folder))
        self._read_dev = cache(lambda: list(open_examples(table.dev, folder)) if table.dev else [])
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
        plan = Plan(config, Recipe(row.loss, seed=seed), compute=self._compute)
        dev: Sequence[Example] = ()
        if row.model == CA_BILSTM:
            recipe = replace(MATSUBARA, seed=seed)
            plan = Plan(config, recipe, keeps_best=True, patience=PATIENCE, compute=self._compute)
            dev = self._read_dev()
        fitted = fit_ranker(plan, self.read_parts(), vectors, start=start, dev=dev, on_step=on_step)
        return _finish(fitted, TorchScorer(fitted.model, vectors))

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
        plan = Plan(model.config, replace(recipe, seed=seed), compute=self._compute)
        fitted = fit_selector(plan, self.read_parts(), model, tokenizer, on_step=on_step)
        scorer = SelectorTorchScorer(fitted.model.to(self._compute.device), tokenizer)
        return _finish(fitted, scorer)

    def _open_vectors(self) -> StaticVectors:
        """Return the shipped vectors, a bundle's, or those of a file for the words of the data."""
        path = self._ingredients.vectors
        if path is None or path.is_dir():
            return load_vectors(path) if path else load_vectors()
        words = chain(join_parts(self.read_parts()), self._read_dev(), self._read_test())
        return load_published_vectors(path, words)


def _finish(fitted: Fitted[Any], scorer: Scorer) -> TrainedRow:
    return TrainedRow(scorer, count_parameters(fitted.model), fitted.seconds, fitted.compute)


def measure_gains(table: RankerTable, runs: Sequence[Run]) -> list[Gain]:
    """Compare every recurrent head with the same model and loss without one."""
    gains = (
        measure_gain(runs, row.name, f"{row.model}/{row.loss}/none", table.measures[0])
        for row in table.rows
        if not row.is_shipped and row.head != "none"
    )
    return [gain for gain in gains if gain]


def _measure_baselines(
    table: RankerTable, folder: Path | None, reporter: Reporter
) -> list[dict[str, Any]]:
    """Measure the lexical rows of the paper's table, where it has them."""
    rows: list[dict[str, Any]] = []
    for lexical in (item for item in BASELINES if item.test == table.test):
        examples = open_examples(table.test, folder)
        for row in lexical.rows[1:]:
            try:
                means = measure_baseline(row, lexical.words, examples, table.measures)
            except MissingExtraError as error:
                reporter.say(f"left out {row.scorer}: {error}")
                continue
            rows.append({"scorer": row.scorer, "published": row.published, "measured": means})
    return rows


def _print(
    table: RankerTable,
    summaries: Sequence[Summary[RankerRow]],
    gains: Sequence[Gain],
    baselines: Sequence[dict[str, Any]],
    pretraining: Sequence[str],
) -> PrintedTable:
    rows = []
    for item in baselines:
        values = [item[source].get(name) for name in table.measures for source in SOURCES]
        cells = ["" if value is None else f"{value:.2f}" for value in values]
        rows.append([item["scorer"], *["–"] * 3, *cells, *["–"] * 3])
    for summary in summaries:
        row = summary.row
        cells = summary.show_all(table.measures)
        size = [f"{summary.parameters:,}", f"{summary.seconds:.1f}"]
        size.append(show_ingredients(summary.ingredients))
        rows.append([row.label, row.loss, row.head, str(summary.seeds), *cells, *size])
    columns = [f"{name} {source}" for name in table.measures for source in SOURCES]
    return PrintedTable(
        ["model", "loss", "head", "seeds", *columns, "parameters", "seconds", "ingredients"],
        rows,
        notes=[f"{table.name}: tested on {table.test}, protocol {table.protocol}"],
        footer=[*map(str, gains), *pretraining],
    )


def plot_quality_against_time(
    path: Path, measure: str, summaries: Sequence[Summary[RankerRow]]
) -> None:
    """Plot one point per row; hollow points are the published values on their machine."""
    with plotting(path) as axes:
        labels = dict.fromkeys(item.row.label for item in summaries)
        colours = {label: f"C{number}" for number, label in enumerate(labels)}
        for item in (item for item in summaries if item.seconds):  # an open bundle took none
            row, point = item.row, (item.seconds, item.means[measure])
            colour = colours[row.label]
            axes.scatter(*point, color=colour)
            axes.annotate(f" {row.loss[:4]} {row.head}", point, fontsize=7)
            if row.seconds and measure in row.published:
                axes.scatter(row.seconds, row.published[measure], fc="none", ec=colour)
        for label, colour in colours.items():
            axes.scatter([], [], color=colour, label=label)
        axes.set(xscale="log", xlabel="training seconds", ylabel=measure)
