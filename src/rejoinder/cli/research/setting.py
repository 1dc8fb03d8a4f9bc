"""What `evaluate` and `compare` share: the data set, the protocol and the measures."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import reduce, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options

if TYPE_CHECKING:
    from rejoinder.evaluation.protocol import Protocol
    from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class Setting:
    """The options as they were given."""

    dataset: str
    split: str | None
    questions: str
    ties: str
    words: str
    measures: str
    folder: Path | None

    @property
    def protocol(self) -> "Protocol":
        """The rules of the evaluation."""
        from rejoinder.evaluation.protocol import Protocol

        return Protocol(self.questions, self.ties, self.words)

    @property
    def measure_names(self) -> list[str]:
        """What to measure, each once."""
        return list(dict.fromkeys(options.split_names(self.measures)))

    def read_examples(self) -> "list[Example]":
        """Read the whole split."""
        from rejoinder.datasets.catalogue import open_dataset

        return list(open_dataset(self.dataset, split=self.split, folder=self.folder))


def takes_setting(command: Callable[..., None]) -> Callable[..., None]:
    """Add DATASET and the options, and hand them to the command as one `setting`."""

    @wraps(command)
    def run(**given: Any) -> None:
        setting = Setting(**{field.name: given.pop(field.name) for field in fields(Setting)})
        command(setting=_split_name(setting), **given)

    return reduce(lambda function, add: add(function), reversed(_PARAMETERS), run)


def _split_name(setting: Setting) -> Setting:
    """Return the setting of NAME:SPLIT with the split in its own place."""
    from rejoinder.datasets.catalogue import split_choice
    from rejoinder.errors import InputError

    name, split = split_choice(setting.dataset)
    if split is None:
        return setting
    if setting.split not in (None, split):
        raise InputError(f"{setting.dataset} is not --split {setting.split}; give one of them")
    return replace(setting, dataset=name, split=split)


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
