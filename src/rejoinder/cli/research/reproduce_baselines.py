"""`rejoinder reproduce baselines`: what needs no training."""

from pathlib import Path

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table, say


@click.command(epilog=options.example("rejoinder reproduce baselines --data data"))
@options.data_folder
@options.as_json
def baselines(folder: Path | None, as_json: bool) -> None:
    """Lexical baselines of the Cosinet paper: random, RR, WO, WO+RR.

    Measured twice: with the words that reproduce the paper, and with our own.  Data sets
    that are not found are left out, and said.
    """
    from rejoinder.datasets.catalogue import open_dataset
    from rejoinder.errors import MissingDataError
    from rejoinder.papers.baselines import TABLES, Reproduced
    from rejoinder.papers.baselines import reproduce as run

    found: list[Reproduced] = []
    for table in TABLES:
        try:
            examples = list(open_dataset(table.dataset, split=table.split, folder=folder))
        except MissingDataError as error:
            say(f"left out: {error}")
            continue
        found.extend(run(table, examples))
    if not found:
        raise MissingDataError("none of the data sets was found; give their folder as --data")
    if as_json:
        print_json([item.to_dict() for item in found])
        return
    header = ["data set", "questions", "scorer", "ties", "words", "measure"]
    print_table(
        [*header, "published", "measured", "our words"],
        [
            [
                f"{item.dataset} {item.split}",
                str(item.questions),
                item.scorer,
                item.ties,
                item.words,
                item.measure,
                f"{item.published:.2f}",
                f"{item.measured:.2f}",
                f"{item.in_our_words:.2f}",
            ]
            for item in found
        ],
    )
