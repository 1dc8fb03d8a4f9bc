"""`rejoinder reproduce`: a paper's tables, published and measured side by side."""

from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import say, show_progress
from rejoinder.cli.research.ingredients import ALL, takes_ingredients
from rejoinder.cli.tables import Output, takes_format

if TYPE_CHECKING:
    from rejoinder.papers.table import PrintedTable, Reporter

RANKERS = {
    "wikiqa": "Table 4 of the Cosinet paper: small rankers trained and tested on WikiQA.",
    "squad": "Table 5 of the Cosinet paper, trained on the part of SQuAD that is available.",
    "nq-la": "Table 6 of the Cosinet paper, where you have Natural Questions.",
    "trecqa": "Compare-Aggregate and Cosinet on TREC-QA, trained on train-all and on train.",
}
_TRAINS = (
    "Trains every row once per seed by the paper's recipe (three epochs, slanted triangular"
    " learning rate, last epoch kept) and measures on the test part."
)
_SCORER = "Name or bundle of a scorer; give several."


@click.group(epilog=options.example("rejoinder reproduce baselines --data data"))
def reproduce() -> None:
    """Print a paper's table with our column beside it."""


@reproduce.command(epilog=options.example("rejoinder reproduce baselines --data data"))
@takes_ingredients(
    "baselines",
    seeds=5,
    seeds_help="How often the random ranker is drawn.",
    takes=["seeds"],
    why="nothing in it is trained",
)
@options.data_folder
@takes_format
def baselines(folder: Path | None, seeds: int, output: Output) -> None:
    """Lexical baselines of the Cosinet paper: random, RR, WO, WO+RR.

    Measured twice: with the word splitting that reproduces the paper, and with our own.
    Data sets that are not found are left out, with a message.
    """
    from rejoinder.papers.baselines import reproduce_baselines

    _report(partial(reproduce_baselines, folder, seeds=seeds), output)


def _add_rankers(name: str, title: str) -> None:
    call = f"rejoinder reproduce {name} --seeds 1 --data data"

    @reproduce.command(name, help=f"{title}\n\n{_TRAINS}", epilog=options.example(call))
    @takes_ingredients(name, seeds=5)
    @options.models
    @click.option(
        "--plot", type=click.Path(path_type=Path), help="Plot quality against training time."
    )
    @options.threads
    @options.data_folder
    @takes_format
    def run(output: Output, **given: Any) -> None:
        from rejoinder.papers.cosinet.reproduction import RankerTableOptions, reproduce_rankers

        _report(partial(reproduce_rankers, name, RankerTableOptions(**given)), output)


for _name, _title in RANKERS.items():
    _add_rankers(_name, _title)


@reproduce.command(
    epilog=options.example(
        "rejoinder reproduce sequential --first jaccard --first my-cosinet"
        " --selector my-selector --data data"
    )
)
@click.option("--first", "firsts", multiple=True, default=["jaccard"], help=_SCORER)
@click.option("--selector", "selectors", multiple=True, required=True, help=_SCORER)
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Questions of each data set, spread evenly over it.",
)
@click.option("--all", "takes_all", is_flag=True, help="All questions.")
@click.option("--plot", type=options.PATH, help="Plot P@1 against k.")
@click.option(
    "--with-loading",
    is_flag=True,
    help="Also time how new processes load the scorers, which the paper counts into latency.",
)
@takes_ingredients(
    "sequential",
    takes=[],
    why="its scorers are trained already; train one with `rejoinder train`, give its bundle as"
    " --first or --selector, and keep its scores with --score-cache",
)
@options.score_cache
@options.data_folder
@takes_format
def sequential(output: Output, takes_all: bool, questions: int, **given: Any) -> None:
    """Tables 4 and 5 and Figure 2 of the sequential-reranker paper, on its lists and on others.

    The lists of ASNQ dev and of ASNQ++ as they are, where you have them, and lists of 350 and
    1,300 candidates from SQuAD v2.0 dev and WikiQA test; the selector on all candidates against
    the selector on the k best of a first scorer.  P@1 is over all questions; milliseconds are
    measured on ten of them.  GPD's published rows (Table 3) stand beside the long lists.
    """
    from rejoinder.papers.sequential.reproduction import SequentialOptions, reproduce_sequential

    chosen = SequentialOptions(questions=None if takes_all else questions, **given)
    _report(partial(reproduce_sequential, chosen), output)


@reproduce.command(
    epilog=options.example(
        "rejoinder reproduce context --runs context.jsonl --to bundles --data data",
        "rejoinder reproduce context --models none,local,multi-way --seeds 3 --runs context.jsonl",
        "rejoinder reproduce context --train lists.jsonl.gz --test dev.jsonl.gz --no-costs",
        "rejoinder reproduce context --costs",
    )
)
@takes_ingredients(
    "context",
    seeds=3,
    takes=[name for name in ALL if name != "vectors"],
    why="its rows start from included weights, which read the included vectors",
)
@options.models
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    help="Pairs that each run is trained on, approximately."
    "  [default: 10,000; all by the paper's recipe]",
)
@click.option(
    "--test-pairs",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Pairs of each test set, approximately; its questions are spread evenly over it.",
)
@click.option("--all", "takes_all", is_flag=True, help="Test on all pairs.")
@click.option(
    "--test",
    multiple=True,
    help="Test set, NAME[:SPLIT], or a file of lists that span documents, as `rejoinder mine"
    " --sentences` writes them; repeatable.  [default: the table's own]",
)
@click.option(
    "--costs/--no-costs",
    default=None,
    help="Time and memory only, without training; or leave them out: time needs an idle machine."
    "  [default: both]",
)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="Keep the trained bundles in this folder, and resume from those that are there.",
)
@options.threads
@options.data_folder
@takes_format
def context(output: Output, takes_all: bool, test_pairs: int, **given: Any) -> None:
    """Tables 2 and 4 of the context paper: selectors that see more than a sentence.

    Every row starts from the shipped selector and is trained on the same questions of SQuAD over
    whole pages; it is tested as a bundle, in int8 where that is close enough, on SQuAD, WikiQA,
    SelQA and, where you have it, ASNQ: the test half with the neighbours that pages of Natural
    Questions give, else what is nearest to it.  Latencies are for one thread, memory is that of a
    process that scores.
    """
    from rejoinder.papers.context.reproduction import reproduce_context
    from rejoinder.papers.context.training import ContextTableOptions

    given["test_pairs"] = inf if takes_all else test_pairs
    _report(partial(reproduce_context, ContextTableOptions(**given)), output)


@reproduce.command(
    epilog=options.example(
        "rejoinder reproduce has --tables wikiqa --seeds 3 --runs has.jsonl --data data",
        "rejoinder reproduce has --study --plot study.png --runs has.jsonl --data data",
        "rejoinder reproduce has --costs",
    ),
)
@click.option(
    "--tables",
    default="",
    help="Comma-separated: wikiqa, squad-pools, insuranceqa, insuranceqa-v1, yahooqa."
    "  [default: wikiqa,squad-pools; by the paper's recipe wikiqa,insuranceqa-v1,yahooqa]",
)
@options.models
@takes_ingredients("has", seeds=3)
@click.option("--epochs", type=click.IntRange(min=1), help="[default: the table's own]")
@click.option("--learning-rate", type=float, help="[default: the recipe's]")
@click.option("--batch", type=options.COUNT, help="Triplets per step.  [default: the recipe's]")
@click.option(
    "--attention-width",
    type=options.COUNT,
    help="M of the paper.  [default: 128; 768 for InsuranceQA by the paper's recipe]",
)
@click.option(
    "--max-tokens",
    type=options.COUNT,
    help="L of the paper.  [default: 128; 200 by the paper's recipe]",
)
@click.option(
    "--int8/--no-int8",
    default=True,
    show_default=True,
    help="Measure bundles in int8; --no-int8 measures fp32.",
)
@click.option(
    "--study",
    is_flag=True,
    help="The study over beta and delta, on the dev part of wikiqa or insuranceqa-v1.",
)
@click.option("--plot", type=options.PATH, help="Plot the study: Figures 2 and 3.")
@click.option("--costs", is_flag=True, help="Time and memory only, without training.")
@options.threads
@options.data_folder
@takes_format
def has(tables: str, output: Output, **given: Any) -> None:
    """Tables 2 to 6 of the HAS paper: pooling, attention, answers as bits.

    Trains every row once per seed, keeps the epoch that is best on dev, writes the bundle,
    stores the test's answers, and measures from the reopened store.  Then time per question
    with 500 stored answers of 25 words on one thread, and the memory of an answer.  Data
    sets that are not found are left out, with a message.  With --runs, a table that was stopped
    resumes inside the interrupted training.
    """
    from rejoinder.papers.has.reproduction import reproduce_has
    from rejoinder.papers.has.tables import HasTableOptions

    chosen = HasTableOptions(tables=options.split_names(tables), **given)
    _report(partial(reproduce_has, chosen), output)


def _report(run: "Callable[[Reporter], Any]", output: Output) -> None:
    """Print tables as they are completed, or the whole result as JSON."""
    from rejoinder.papers.table import Reporter

    def show(table: "PrintedTable") -> None:
        output.show(
            table.header, table.rows, title=table.title, notes=table.notes, footer=table.footer
        )

    output.show_json(run(Reporter(say, show, show_progress)))
