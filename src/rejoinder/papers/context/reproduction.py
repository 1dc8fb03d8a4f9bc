"""The value of context to a selector: Han et al. 2021, Tables 2 and 4, in our setting.

Every row starts from the weights of the shipped selector (Cosinet's from Cosinet's) and is
trained on the same questions by the same recipe; rows differ in the context that they read.  The
shipped selector was trained without context on most of the training questions, and on SelQA's;
that is the same for all rows.  Rows are tested as the bundles that they become.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, partial
from typing import Any

from rejoinder.papers.context import costs as context_costs
from rejoinder.papers.context.data import ContextData, read_data
from rejoinder.papers.context.results import (
    compare_at_equal_time,
    describe_set,
    print_cascades,
    print_costs,
    print_quality,
    summarise_sets,
)
from rejoinder.papers.context.rows import BASE, TRAIN, ContextRow, name_start, set_rows
from rejoinder.papers.context.training import ContextRun, ContextTableOptions, train_rows
from rejoinder.papers.examples import describe_sources
from rejoinder.papers.ingredients import (
    describe_pretraining,
    label_bundle,
    label_encoder,
    show_ingredients,
)
from rejoinder.papers.table import SILENT, Reporter, choose_rows, start_training
from rejoinder.training.checkpoint import check_target


def reproduce_context(options: ContextTableOptions, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Train and measure the rows, then their costs; return plain JSON types.

    Raises:
        RejoinderError: an option names no row, data is not here, or bundles cannot be written.
    """
    start_training(options)
    if options.to:
        check_target(options.to / BASE.name)
    rows = choose_rows(set_rows(options.ingredients), options.models, of="context")
    data = cache(lambda: read_data(options.data, reporter.say))
    runs = [] if options.costs else train_rows(rows, data, options, reporter)
    quality = summarise_sets(rows, runs)
    pretraining = describe_pretraining(item.summary.ingredients for item in quality)
    describe = partial(describe_set, runs=runs, folder=options.folder)
    notes = describe_sources(options.ingredients.train or TRAIN, options.folder)
    for table in print_quality(quality, [*pretraining, *notes], describe):
        reporter.show(table)
    return {
        "quality": [item.to_dict() for item in quality],
        "tests": {name: describe(name) for name in dict.fromkeys(q.dataset for q in quality)},
        "pretraining": pretraining,
        **({"training": notes} if notes else {}),
        **(
            _measure_costs(rows, runs, data(), options, reporter)
            if options.costs is not False
            else {}
        ),
    }


def _measure_costs(
    rows: Sequence[ContextRow],
    runs: Sequence[ContextRun],
    data: ContextData,
    options: ContextTableOptions,
    reporter: Reporter,
) -> dict[str, Any]:
    """Measure the time and the memory of rows, and compare them in equal time."""
    selectors = [row for row in rows if row.is_selector]
    timed = [BASE, *(row for row in selectors if row is not BASE)]
    start = name_start(options.ingredients)
    made = label_bundle(start.bundle) if start.bundle else label_encoder(start.encoder)
    label = {"encoder": made}
    costs = context_costs.measure_pairs(timed, data.get_timed(), start)
    searches = context_costs.measure_search(data.get_timed(), start)
    cascades = compare_at_equal_time(selectors, runs, {item.row: item.natural_ms for item in costs})
    for table in (
        *print_costs(costs, searches, show_ingredients(label)),
        *print_cascades(cascades),
    ):
        reporter.show(table)
    return {
        "latency": [{**asdict(item), "ingredients": label} for item in costs],
        "construction": [{**asdict(item), "ingredients": label} for item in searches],
        "verdict": [asdict(item) for item in cascades],
    }
