"""Answers stored as bits: Xu & Li 2020, "Hashing based Answer Selection", Tables 2 to 6.

Published values are percentages; theirs use BERT-base, InsuranceQA V1 and five runs.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rejoinder.bundle.folder import open_bundle
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.errors import InputError, MissingDataError, UnknownNameError
from rejoinder.evaluation import evaluate
from rejoinder.evaluation.stored_answers import AnswerCost, list_texts, measure_costs, store_texts
from rejoinder.models.has.export import write_has
from rejoinder.models.has.module import Has, HasConfig, load_has
from rejoinder.models.has.scorer import HasScorer
from rejoinder.models.ranker.module.ranker import count_parameters
from rejoinder.models.ranker.relatedness import RelatednessScorer, WeightedSum
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.files import load_published_vectors
from rejoinder.models.static_vectors.vectors import StaticVectors, load_vectors
from rejoinder.papers import has_published
from rejoinder.papers.examples import build_lists, keep_answered, spread_evenly
from rejoinder.papers.has_figures import plot_study
from rejoinder.papers.ingredients import (
    OWN_VECTORS,
    Ingredients,
    describe_pretraining,
    label_encoder,
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
    measure_gain,
    round_values,
    run_rows,
    start_training,
    summarise,
)
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.training.checkpoint import keep_checkpoint
from rejoinder.training.devices import choose_compute
from rejoinder.training.fit import Fitted, Plan
from rejoinder.training.has import DEFAULTS, RECIPE, fit_has
from rejoinder.training.loop import Recipe
from rejoinder.training.mixing import Part, read_parts
from rejoinder.types import Example

_write = partial(write_has, training={})
BETAS = (1.0, 2.0, 5.0, 10.0, 20.0)
DELTAS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4)
RELATED = "+relatedness"
SHARES = (0.0, 0.25, 0.5, 1.0, 2.0)
"""Weights of relatedness beside HAS; the best on dev is used."""
PARITY_TEXTS = 60
ON_DEV = "dev MAP"
"""Measured in addition to the table's measures, which are on test."""


@dataclass(frozen=True, slots=True)
class HasRow:
    """A composition of words into answers, with its hyper-parameters."""

    name: str
    config: HasConfig
    published: Mapping[str, float] = field(default_factory=dict)
    is_seeded: bool = True

    def change(self, changes: Mapping[str, Any]) -> HasConfig:
        """Return the network's settings with others, but for the one that names the row."""
        own = (
            {}
            if "attention-" not in self.name
            else {"attention_width": self.config.attention_width}
        )
        return replace(self.config, **{**changes, **own})

    def get_own(self, train: str) -> dict[str, str]:
        """Return what the row is made of by itself, trained on `train`; "" is anything."""
        vectors = {"vectors": OWN_VECTORS} if self.name.endswith(RELATED) else {}
        own = {"encoder": label_encoder(self.config.encoder), **vectors, "train": train}
        return {**own, "recipe": "default", "device": "", "precision": ""}


@dataclass(frozen=True, slots=True)
class PaperRecipe:
    """What the paper sets for each data set ("Hyperparameters and Baselines")."""

    epochs: int
    batch: int = 32
    attention_width: int = 128

    def make(self) -> Recipe:
        """Return the recipe of a training; the paper clips no gradient."""
        return Recipe(
            *("triplet", self.epochs, self.batch),
            learning_rate=5e-6,
            weight_decay=DEFAULTS["weight_decay"],
        )


PAPER_TOKENS = 200
"""L: the 14.29 GB of Table 6 are 24,981 answers of 200 words with 768 floats each."""


@dataclass(frozen=True, slots=True)
class HasTable:
    """Rows with the sets that they are trained, chosen and tested on."""

    name: str
    train: str
    dev: str
    test: str
    measures: tuple[str, ...]
    rows: tuple[HasRow, ...]
    epochs: int
    paper: PaperRecipe | None = None
    """The paper's own recipe, where the paper has the data set."""
    pool: int | None = None
    """Length of the test's candidate lists, where they are lengthened."""
    train_questions: int | None = None
    dev_questions: int = 300
    test_questions: int | None = None
    note: str = ""
    second_test: str = ""
    """Another test set; its measures are those in `second_measures`."""
    others: PrintedTable | None = None
    """The paper's table with the models of other papers."""

    @property
    def second_measures(self) -> tuple[str, ...]:
        """The measures on the second test set: P@1 (test2)."""
        split = self.second_test.partition(":")[2]
        return tuple(f"{name} ({split})" for name in self.measures) if split else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The measures on all test sets."""
        return (*self.measures, *self.second_measures)


def _make_rows(**published: Mapping[str, float]) -> tuple[HasRow, ...]:
    """Return the paper's three models, then variants that store or compute less."""
    config = HasConfig()
    rows = [
        HasRow(name, replace(config, composition=name), published.get(name, {}))
        for name in ("pooling", "attention", "has")
    ]
    narrow = (HasRow(f"has-{width}", replace(config, width=width)) for width in (256, 128))
    small = HasRow("has-attention-32", replace(config, attention_width=32))
    # Next to HAS: the same network, trained once for both.
    return (*rows, HasRow(f"has{RELATED}", config), *narrow, small)


def _make_study() -> tuple[HasRow, ...]:
    """Return a row for each beta at the default delta, and for each delta at the default beta."""
    default = HasConfig()
    configs = [replace(default, beta=beta) for beta in BETAS]
    configs += [replace(default, delta=delta) for delta in DELTAS if delta != default.delta]
    return tuple(
        HasRow(f"beta={config.beta:g} delta={config.delta:g}", config) for config in configs
    )


_WIKIQA = ("wikiqa:train", "wikiqa:dev")
_MAP, _PRECISION = ("MAP", "MRR"), ("P@1", "MRR")
TABLES = (
    HasTable(
        *("wikiqa", *_WIKIQA, "wikiqa:test", _MAP),
        _make_rows(
            pooling={"MAP": 77.22, "MRR": 78.27},
            attention={"MAP": 80.65, "MRR": 81.83},
            has={"MAP": 81.01, "MRR": 82.22},
        ),
        epochs=18,
        paper=PaperRecipe(18),
        others=has_published.WIKIQA,
    ),
    HasTable(
        *("squad-pools", "squad-train-part:fit", "squad-train-part:dev", "squad-v2:dev"),
        *(_PRECISION, _make_rows()),
        epochs=2,
        pool=500,
        test_questions=500,
        note="answerable questions, each with 500 candidates: its article, then others",
    ),
    HasTable(
        *("insuranceqa", "insuranceqa:train", "insuranceqa:valid", "insuranceqa:test"),
        *(_PRECISION, _make_rows()),
        epochs=2,
        train_questions=4_000,
        dev_questions=50,
        note="4,000 of V2's questions, 200 negatives each: not comparable with the paper's V1",
    ),
    HasTable(
        *("insuranceqa-v1", "insuranceqa-v1:train", "insuranceqa-v1:dev", "insuranceqa-v1:test1"),
        ("P@1",),
        _make_rows(
            pooling={"P@1": 74.52, "P@1 (test2)": 71.97},
            attention={"P@1": 76.12, "P@1 (test2)": 74.12},
            has={"P@1": 76.38, "P@1 (test2)": 73.71},
        ),
        epochs=2,
        paper=PaperRecipe(60, attention_width=768),
        dev_questions=50,
        note="P@1 is on test1; by the paper's recipe the epoch is chosen on all of dev",
        second_test="insuranceqa-v1:test2",
        others=has_published.INSURANCEQA,
    ),
    HasTable(
        *("yahooqa", "yahooqa:train", "yahooqa:dev", "yahooqa:test", _PRECISION),
        _make_rows(
            pooling={"P@1": 73.49, "MRR": 81.93},
            attention={"P@1": 74.78, "MRR": 82.68},
            has={"P@1": 73.89, "MRR": 82.10},
        ),
        epochs=2,
        paper=PaperRecipe(9, batch=64),
        others=has_published.YAHOOQA,
    ),
)
DEFAULT_TABLES = ("wikiqa", "squad-pools")
_ON_DEV_NOTE = "on the dev part, where it is also chosen which epoch is kept"
STUDY = HasTable(
    *("wikiqa-study", *_WIKIQA, "wikiqa:dev", _MAP, _make_study()),
    epochs=18,
    paper=PaperRecipe(18),
    note=_ON_DEV_NOTE,
)
INSURANCEQA_STUDY = HasTable(
    *("insuranceqa-v1-study", "insuranceqa-v1:train", "insuranceqa-v1:dev", "insuranceqa-v1:dev"),
    *(("P@1",), _make_study()),
    epochs=2,
    paper=PaperRecipe(60, attention_width=768),
    note=_ON_DEV_NOTE,
)
STUDIES = {"wikiqa": STUDY, "insuranceqa-v1": INSURANCEQA_STUDY}
"""The studies of beta and delta: the paper's Figures 3 and 2."""


@dataclass(frozen=True, slots=True)
class HasTableOptions(TableOptions):
    """Options of `reproduce_has`."""

    tables: Sequence[str] = ()
    """Names of `TABLES`; by default those of `DEFAULT_TABLES`, or by the paper's recipe all that
    the paper has."""
    epochs: int | None = None
    learning_rate: float | None = None
    batch: int | None = None
    """Triplets per step."""
    attention_width: int | None = None
    """M of the paper, of all rows but those that are named by their own."""
    max_tokens: int | None = None
    """L of the paper."""
    int8: bool = True
    """Whether rows are measured as int8 bundles, not fp32."""
    study: bool = False
    """Only the study over beta and delta."""
    plot: Path | None = None
    """Plot of the study."""
    costs: bool = False
    """Only time and memory."""

    @property
    def bundle_precision(self) -> str:
        """The precision of the measured bundles."""
        return "int8" if self.int8 else "fp32"


@dataclass(frozen=True, slots=True)
class HasData:
    """The examples of a table."""

    train: Sequence[Part]
    dev: Sequence[Example]
    test: Sequence[Example]
    second_test: Sequence[Example] = ()


def reproduce_has(options: HasTableOptions, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Train and measure the tables whose data is here, then the costs; return plain JSON types.

    Raises:
        UnknownNameError: an option names no table, or no row.
    """
    if options.plot and not options.study:
        raise InputError("--plot draws the study over beta and delta: give --study, too")
    start_training(options)
    tables, studies = [], {}
    for table in _choose_tables(options):
        try:
            summaries, result = _reproduce_table(table, options, reporter)
        except MissingDataError as error:
            reporter.say(f"left out: {error}")
            continue
        tables.append(result)
        studies[table.name] = summaries
    if options.plot and studies:
        plot_study(options.plot, studies)
        reporter.say(f"wrote {options.plot}")
    encoder = options.ingredients.encoder
    costs = [] if options.study else measure_untrained(options.bundle_precision, encoder)
    label = label_encoder(encoder or HasConfig().encoder)
    if not options.study:
        reporter.show(_print_costs(costs, label))
        reporter.show(has_published.COSTS)
    return {
        "tables": tables,
        "costs": [{**asdict(cost), "ingredients": {"encoder": label}} for cost in costs],
    }


def _choose_tables(options: HasTableOptions) -> list[HasTable]:
    known = {table.name: table for table in TABLES}
    in_paper = [table.name for table in TABLES if table.paper]
    for name in options.tables:
        if name not in known:
            raise UnknownNameError("table of HAS", name, known)
    if options.costs:
        return []
    is_paper = options.ingredients.is_paper
    names = options.tables or (in_paper if is_paper else DEFAULT_TABLES)
    if options.study:
        chosen = [STUDIES[name] for name in names if name in STUDIES]
    else:
        chosen = [known[name] for name in names]
    for table in chosen:
        if is_paper and table.paper is None:
            have = ", ".join(in_paper)
            raise InputError(f"--recipe paper: {table.name} is not in the paper; it has {have}")
    return chosen


def _reproduce_table(
    table: HasTable, options: HasTableOptions, reporter: Reporter
) -> tuple[list[Summary[HasRow]], dict[str, Any]]:
    """Print a table; return its summaries, and all of it as plain JSON types."""
    known = set_rows(table, options.ingredients, options)
    rows = choose_rows(known, options.models, of=table.name)
    runs = train_rows(table, rows, options, reporter)
    summaries = [summarise(row, runs) for row in rows]
    gains = measure_gains(table, runs)
    trained = " + ".join(options.ingredients.train) or table.train
    tested = " and ".join(filter(None, (table.test, table.second_test)))
    sets = f"trained on {trained}, chosen on {table.dev}, tested on {tested}"
    pretraining = describe_pretraining(item.ingredients for item in summaries)
    columns = [f"{name} {source}" for name in table.columns for source in SOURCES]
    printed = PrintedTable(
        ["model", "seeds", ON_DEV, *columns, "parameters", "seconds", "ingredients"],
        [
            [
                *(item.row.name, str(item.seeds), f"{item.means[ON_DEV]:.2f}"),
                *item.show_all(table.columns),
                *(f"{item.parameters:,}", f"{item.seconds:.0f}"),
                show_ingredients(item.ingredients),
            ]
            for item in summaries
        ],
        notes=[f"{table.name}: {sets}", *([table.note] if table.note else [])],
        footer=[*map(str, gains), *pretraining],
    )
    reporter.show(printed)
    if table.others:
        reporter.show(table.others)
    result = {
        "table": table.name,
        "train": trained,
        "test": table.test,
        "note": table.note,
        "rows": [{"row": item.row.name, **item.to_dict()} for item in summaries],
        "gains": [asdict(gain) for gain in gains],
        "pretraining": pretraining,
    }
    return summaries, result


def set_rows(
    table: HasTable, ingredients: Ingredients, options: HasTableOptions | None = None
) -> list[HasRow]:
    """Return the rows with the encoder and the widths that are given.

    By the paper's recipe, the rows are those of the paper.
    """
    rows, changes = list(table.rows), dict[str, Any]()
    if ingredients.is_paper and table.paper is not None:
        changes = {"attention_width": table.paper.attention_width, "max_tokens": PAPER_TOKENS}
        is_study = table in STUDIES.values()
        rows = [row for row in rows if row.published or is_study]
    given = {
        "encoder": ingredients.encoder,
        "attention_width": options and options.attention_width,
        "max_tokens": options and options.max_tokens,
    }
    changes |= {name: value for name, value in given.items() if value is not None}
    return [replace(row, config=row.change(changes)) for row in rows]


def measure_gains(table: HasTable, runs: Sequence[Run]) -> list[Gain]:
    """Compare attention with pooling, and HAS and its variants with attention."""
    pairs = [("attention", "pooling"), ("has", "pooling")]
    pairs += [(row.name, "attention") for row in table.rows if row.name.startswith("has")]
    gains = (measure_gain(runs, row, over, table.measures[0]) for row, over in pairs)
    return [gain for gain in gains if gain]


def read_data(
    table: HasTable,
    folder: Path | None,
    training: Sequence[str] = (),
    *,
    takes_all_dev: bool = False,
) -> HasData:
    """Read the questions of a table that have an answer; MissingDataError if data is not here.

    Args:
        training: data sets in place of the table's own.
        takes_all_dev: choose the epoch on the whole dev part, as the paper does.
    """
    dev, test = (
        keep_answered(list(open_dataset(choice, folder=folder)))
        for choice in (table.dev, table.test)
    )
    if table.pool:
        test = build_lists(test, size=table.pool, questions=table.test_questions or len(test))
    parts = [part.load() for part in read_parts(training, folder)]
    if not training:
        own = keep_answered(list(open_dataset(table.train, folder=folder)))
        parts = [Part(spread_evenly(own, table.train_questions or len(own)))]
    second: list[Example] = []
    if table.second_test:
        second = keep_answered(list(open_dataset(table.second_test, folder=folder)))
    kept = dev if takes_all_dev else spread_evenly(dev, table.dev_questions)
    return HasData(parts, kept, test, second)


def train_rows(
    table: HasTable, rows: Sequence[HasRow], options: HasTableOptions, reporter: Reporter
) -> list[Run]:
    """Return one run per row and seed; checkpoints are written beside the journal of runs."""
    recipe = make_recipe(table, options)
    name = f"{table.name}, {recipe.epochs} epochs at {recipe.peak:g}, {options.bundle_precision}"
    name += _name_settings(options)
    compute = choose_compute(options.ingredients.device, options.ingredients.precision)
    is_paper = options.ingredients.is_paper
    read = cache(
        lambda: read_data(table, options.folder, options.ingredients.train, takes_all_dev=is_paper)
    )
    own = {row.name: row.get_own(table.train) for row in table.rows}
    last: dict[tuple[HasConfig, Recipe], _Trained] = {}

    def train(row: HasRow, seed: int, on_step: OnStep) -> Run:
        suffix = f"-{table.name}-{row.name}-{seed}"
        path = options.runs and options.runs.with_name(options.runs.name + suffix)
        key = (row.config, replace(recipe, seed=seed))
        with keep_checkpoint(path) if path else nullcontext() as checkpoint:
            if key not in last:  # else the rows differ only in the scorer that is measured
                last.clear()
                best = table.measures[0] if options.ingredients.is_paper else "MAP"
                plan = Plan(*key, keeps_best=True, best_by=best, compute=compute)
                freezes = not options.ingredients.is_paper
                last[key] = _train(plan, read(), checkpoint, on_step, freezes=freezes)
            values = _measure(table, row, last[key], read(), options)
        fitted, _ = last[key]
        made = fitted.compute.describe()
        size, seconds = count_parameters(fitted.model), round(fitted.seconds, 2)
        return Run(name, row.name, seed, values, size, seconds, ingredients=made)

    return run_rows(
        *(name, rows, options, Run, train, reporter),
        get_own=lambda row: own[row.name],
        measures=(*table.columns, ON_DEV),
    )


def make_recipe(table: HasTable, options: HasTableOptions) -> Recipe:
    """Return the hyper-parameters of a table: ours or the paper's, with those that are given."""
    recipe = replace(RECIPE, epochs=table.epochs)
    if options.ingredients.is_paper and table.paper is not None:
        recipe = table.paper.make()
    return replace(
        recipe,
        epochs=options.epochs or recipe.epochs,
        questions_per_step=options.batch or recipe.questions_per_step,
        learning_rate=options.learning_rate or recipe.learning_rate,
    )


def _name_settings(options: HasTableOptions) -> str:
    """Return the settings that are given: they make other runs."""
    given = {
        "triplets": options.batch,
        "attention width": options.attention_width,
        "tokens": options.max_tokens,
    }
    return "".join(f", {value} {name}" for name, value in given.items() if value is not None)


_Trained = tuple[Fitted[Has], Tokenizer]
"""A network, and its tokenizer."""


def _train(
    plan: Plan[HasConfig],
    data: HasData,
    checkpoint: Path | None,
    on_step: OnStep,
    *,
    freezes: bool,
) -> _Trained:
    """Train a network; `freezes` leaves the vectors of tokens as they are."""
    model, tokenizer = load_has(plan.config, seed=plan.recipe.seed)
    if not freezes:
        model.encoder.embeddings.requires_grad_(True)
    fitted = fit_has(
        replace(plan, config=model.config),
        data.train,
        model,
        tokenizer,
        dev=data.dev,
        checkpoint=checkpoint,
        on_step=on_step,
    )
    return fitted, tokenizer


def _measure(
    table: HasTable, row: HasRow, trained: _Trained, data: HasData, options: HasTableOptions
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
        for row in set_rows(TABLES[0], Ingredients(encoder=encoder)):
            if not row.name.endswith(RELATED):
                bundles[row.name] = Path(place, row.name)
                _write(bundles[row.name], *load_has(row.config), precision=precision, sample=[])
        return list(measure_costs(bundles))


def _print_costs(costs: Sequence[AnswerCost], encoder: str) -> PrintedTable:
    rows = []
    for cost in costs:
        times = (f"{time:.1f}" for time in (cost.question_ms, cost.median_ms, cost.p95_ms))
        memory = (cost.disk_bytes, cost.resident_bytes)
        sizes = ("–" if size is None else f"{size:,}" for size in memory)
        pool = "–" if cost.pool_gb is None else f"{cost.pool_gb:.2f}"
        rows.append([cost.name, *times, *sizes, pool, encoder])
    return PrintedTable(
        [
            *("model", "question ms", "answers ms", "95 % ms"),
            *("bytes on disk", "bytes resident", "GB for InsuranceQA V1", "ingredients"),
        ],
        rows,
        title="time per question with 500 answers of 25 words, one thread; memory of an answer, and"
        " of 24,981 answers of 200 words",
    )
