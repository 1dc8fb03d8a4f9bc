"""Rows of Han et al. 2021's tables: forms of context, and what each is made of.

"Modeling Context in Answer Sentence Selection Systems on a Latency Budget", Tables 2 and 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.papers.ingredients import Ingredients, label_bundle

COSINET = "cosinet"
START = "selector"
"""The bundle that all selectors start from."""
TRAIN = ("squad-train-part:fit", "squad-v1:dev-not-in-v2")
"""The data sets that rows are trained on."""


@dataclass(frozen=True, slots=True)
class ContextRow:
    """A form of context, with the published percentages on ASNQ."""

    name: str
    form: str
    similarity: str = "static"
    published: Mapping[str, float] = field(default_factory=dict)
    is_trained: bool = True
    """False for the shipped selector, which the others start from."""
    base: str = "none"
    """The row without context that it is compared with."""
    attention: str = "scaled"
    """The function of multi-way attention."""
    published_us: float | None = None
    """The published latency: microseconds per pair on a V100, 128 pairs at once."""

    @property
    def is_seeded(self) -> bool:
        """Whether it is trained once per seed: all but the shipped selector."""
        return self.is_trained

    @property
    def is_selector(self) -> bool:
        """Whether it is a transformer; else it is Cosinet."""
        return self.form != COSINET


def _publish(precision: float, map_: float, mrr: float) -> dict[str, float]:
    return {"P@1": precision, "MAP": map_, "MRR": mrr}


BASE = ContextRow("none", "none", published=_publish(59.6, 68.5, 70.6), published_us=5.49)
LOCAL = ContextRow("local", "local", published=_publish(65.3, 73.2, 75.2), published_us=5.62)
GLOBAL = ContextRow("global", "global", published=_publish(62.2, 69.8, 72.2), published_us=5.67)
ROWS = (
    ContextRow("shipped", "headings", is_trained=False),
    BASE,
    ContextRow("headings", "headings"),
    LOCAL,
    GLOBAL,
    ContextRow(
        "concatenation",
        "concatenation",
        published=_publish(63.1, 72.6, 74.3),
        published_us=5.76,
    ),
    ContextRow("ensemble", "ensemble", published=_publish(66.8, 74.3, 76.5), published_us=7.41),
    ContextRow("multi-way", "multi-way"),
    *(
        ContextRow(f"multi-way/{name}", "multi-way", attention=name)
        for name in ("concat", "bilinear", "dot", "minus", "mixed")
    ),
    ContextRow("multi-way/ngrams", "multi-way", "ngrams", _publish(63.8, 72.5, 74.6)),
    ContextRow(
        "multi-way/encoder",
        "multi-way",
        "encoder",
        _publish(66.1, 74.2, 75.8),
        published_us=5.82,
    ),
    ContextRow("multi-way/own", "multi-way", "own"),
    ContextRow("stored", "stored"),
    ContextRow("cosinet", COSINET, base="cosinet"),
    ContextRow("cosinet/context", COSINET, base="cosinet"),
)


def set_rows(ingredients: Ingredients) -> list[ContextRow]:
    """Return the rows; by the paper's recipe those of the paper, as it describes them.

    Its similarity is the encoder's, and its multi-way attention has the functions of the
    reference.
    """
    if not ingredients.is_paper:
        return list(ROWS)
    rows = [row for row in ROWS if row.published]
    rows = [
        row if row.similarity == "ngrams" else replace(row, similarity="encoder") for row in rows
    ]
    return [replace(row, attention="mixed") if row.form == "multi-way" else row for row in rows]


def get_own_ingredients(row: ContextRow, *, is_paper: bool) -> dict[str, str]:
    """Return what a row is made of by itself; "" is anything."""
    if not row.is_trained:
        return {"start": label_bundle(START)}
    if not row.is_selector:
        start = {"start": label_bundle(COSINET)}
    else:
        start = {"encoder": DEFAULT if is_paper else label_bundle(START)}
    return {
        **start,
        "train": " + ".join(TRAIN),
        "recipe": "default",
        "device": "",
        "precision": "",
    }


class Start(NamedTuple):
    """The weights that selectors start from."""

    bundle: str | None
    """None for those of the encoder."""
    encoder: str
    recipe: str
    """How a score is read, one of `rejoinder.training.options.RECIPES`."""


def name_start(ingredients: Ingredients) -> Start:
    """Return what selectors start from.

    The paper's start from a pretrained encoder, which no question has adapted, and read a score
    by a feed-forward layer over the first state.
    """
    if ingredients.is_paper:
        return Start(None, ingredients.encoder or DEFAULT, "classifier")
    if ingredients.encoder is None:
        return Start(START, DEFAULT, "cosine")
    return Start(None, ingredients.encoder, "cosine")
