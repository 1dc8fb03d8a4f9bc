"""The entries of `catalogue.toml`, with their readers."""

import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rejoinder.datasets.dataset import Counts, Dataset, Published, RemoteFile, Source
from rejoinder.datasets.readers.insuranceqa import read_insuranceqa, read_insuranceqa_package
from rejoinder.datasets.readers.natural_questions import read_natural_questions
from rejoinder.datasets.readers.pairs import read_asnq, read_pairs, read_yahooqa
from rejoinder.datasets.readers.sentence_lists import read_pool, read_qed, read_selqa
from rejoinder.datasets.readers.squad import V1_ONLY, read_squad
from rejoinder.datasets.readers.trecqa import read_trecqa, read_trecqa_xml
from rejoinder.datasets.readers.wikiqa import read_wikiqa, read_wikiqa_text
from rejoinder.datasets.transforms.held_out import with_dev
from rejoinder.datasets.transforms.long_lists import add_negatives
from rejoinder.types import Example

READERS: dict[str, Callable[..., Iterator[Example]]] = {
    "asnq": read_asnq,
    "asnq++": lambda path: add_negatives(list(read_asnq(path))),
    "insuranceqa-package-test": partial(read_insuranceqa_package, "test"),
    "insuranceqa-package-train": partial(read_insuranceqa_package, "train"),
    "insuranceqa-package-valid": partial(read_insuranceqa_package, "valid"),
    "insuranceqa-v1": partial(read_insuranceqa, columns=("answers", "question", "pool")),
    "insuranceqa-v1-train": partial(read_insuranceqa, columns=("question", "answers")),
    "insuranceqa-v2": partial(read_insuranceqa, columns=("domain", "question", "answers", "pool")),
    "natural-questions": read_natural_questions,
    "pairs": read_pairs,
    "pool": read_pool,
    "qed": read_qed,
    "selqa": read_selqa,
    "squad": read_squad,
    "squad-all-answers": partial(read_squad, answers="all"),
    "squad-v1-only": partial(read_squad, titles=V1_ONLY),
    "trecqa": read_trecqa,
    "trecqa-xml": read_trecqa_xml,
    "wikiqa": read_wikiqa,
    "wikiqa-text": read_wikiqa_text,
    "yahooqa": read_yahooqa,
}


def _to_dataset(
    name: str,
    *,
    splits: dict[str, list[dict[str, Any]]],
    held_out: bool = False,
    remote: tuple[dict[str, Any], ...] = (),
    published: tuple[dict[str, Any], ...] = (),
    **facts: str,
) -> Dataset:
    sources = {split: tuple(_to_source(**row) for row in rows) for split, rows in splits.items()}
    return Dataset(
        name,
        splits=with_dev(*sources["train"]) if held_out else sources,
        remote=tuple(RemoteFile(**row) for row in remote),
        published=tuple(Published(**row) for row in published),
        **facts,
    )


def _to_source(
    reader: str, files: list[str], questions: int | None = None, candidates: int | None = None
) -> Source:
    counts = None if questions is None else Counts(questions, candidates)
    return Source(tuple(files), READERS[reader], counts)


_CATALOGUE = tomllib.loads(Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8"))
ENTRIES = tuple(_to_dataset(name, **entry) for name, entry in _CATALOGUE.items())
