"""Trains the rows on the sets of their table; each run keeps the value of every question."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path

from rejoinder.models.has.module import HasConfig, load_has
from rejoinder.models.ranker.module.ranker import count_parameters
from rejoinder.papers.examples import Say, build_lists, keep_answered, open_examples, spread_evenly
from rejoinder.papers.has.measuring import ON_DEV, HasData, Trained, measure_row
from rejoinder.papers.has.tables import HasRow, HasTable, HasTableOptions
from rejoinder.papers.table import OnStep, Reporter, Run, run_rows
from rejoinder.training.checkpoint import keep_checkpoint
from rejoinder.training.devices import choose_compute
from rejoinder.training.fit import Plan
from rejoinder.training.has import RECIPE, fit_has
from rejoinder.training.loop import Recipe
from rejoinder.training.mixing import Part, read_parts
from rejoinder.types import Example


def read_data(
    table: HasTable,
    folder: Path | None,
    training: Sequence[str] = (),
    *,
    takes_all_dev: bool = False,
    say: Say = lambda _: None,
) -> HasData:
    """Read the questions of a table that have an answer; MissingDataError if data is not here.

    Args:
        training: data sets in place of the table's own.
        takes_all_dev: choose the epoch on the whole dev part, as the paper does.
        say: receives a message about files of another release than the published one.
    """
    dev, test = (
        keep_answered(open_examples(choice, folder, say)) for choice in (table.dev, table.test)
    )
    if table.pool:
        test = build_lists(test, size=table.pool, questions=table.test_questions or len(test))
    parts = [part.load() for part in read_parts(training, folder, say)]
    if not training:
        own = keep_answered(open_examples(table.train, folder, say))
        parts = [Part(spread_evenly(own, table.train_questions or len(own)))]
    second: list[Example] = []
    if table.second_test:
        second = keep_answered(open_examples(table.second_test, folder, say))
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
        lambda: read_data(
            table,
            options.folder,
            options.ingredients.train,
            takes_all_dev=is_paper,
            say=reporter.say,
        )
    )
    own = {row.name: row.get_own(table.train) for row in table.rows}
    last: dict[tuple[HasConfig, Recipe], Trained] = {}

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
            values = measure_row(table, row, last[key], read(), options)
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


def _train(
    plan: Plan[HasConfig],
    data: HasData,
    checkpoint: Path | None,
    on_step: OnStep,
    *,
    freezes: bool,
) -> Trained:
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
