"""Options that `evaluate` and `compare` share: the data set, the protocol and the measures."""

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import click

from rejoinder.cli import options

_PARAMETERS = [
    click.argument("dataset"),
    click.option("--split", help="Part of the data set: train, dev, test, …"),
    click.option(
        "--protocol",
        "questions",
        default="answered",
        show_default=True,
        help="Which questions count: answered, mixed or all.",
    ),
    click.option(
        "--ties",
        default="stable",
        show_default=True,
        help="Equal scores: stable (original order) or pessimistic (wrong ones first).",
    ),
    options.words,
    click.option(
        "--measures",
        default="P@1,MAP,MRR",
        show_default=True,
        help="What to measure, comma-separated; also nDCG@k, recall@k, P@k.",
    ),
    options.data_folder,
]


def takes_setting(command: Callable[..., None]) -> Callable[..., None]:
    """Add DATASET and the options, and pass them as the library functions take them."""

    @wraps(command)
    def run(questions: str, ties: str, words: str, measures: str, **given: Any) -> None:
        from rejoinder.evaluation import Protocol

        names = list(dict.fromkeys(options.split_names(measures)))
        command(protocol=Protocol(questions, ties, words), measures=names, **given)

    return reduce(lambda function, add: add(function), reversed(_PARAMETERS), run)
