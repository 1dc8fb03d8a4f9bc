"""The rows of the papers' tables: which model, trained how, and what was published.

Bonadiman & Moschitti 2020, Tables 4 (WikiQA), 5 (SQuAD-sent) and 6 (NQ-LA); Matsubara et
al. 2020, Table 2 (TREC-QA).  Percentages; seconds are theirs, on a GTX 1080 ti.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Row:
    """One model of a table."""

    model: str
    head: str
    loss: str
    published: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    is_shipped: bool = False
    """Whether training begins with the weights that come with the package."""

    @property
    def label(self) -> str:
        """The model as tables call it: where it begins with shipped weights, it says so."""
        return f"shipped-{self.model}" if self.is_shipped else self.model

    @property
    def name(self) -> str:
        """How the row is called on the command line and in results."""
        return f"{self.label}/{self.loss}/{self.head}"

    @property
    def is_trained(self) -> bool:
        """Whether the row is trained at all; else the shipped weights are measured as they are."""
        return self.loss != UNSEEN


@dataclass(frozen=True, slots=True)
class Table:
    """A table: what its models are trained and tested on, and how they are measured."""

    name: str
    train: tuple[str, ...]
    test: str
    split: str
    measures: tuple[str, ...]
    rows: tuple[Row, ...]
    questions: str = "answered"


COSINET, CA, SELECTOR = "cosinet", "compare-aggregate", "selector"


def _add_selectors(published: Mapping[str, float], seconds: float | None = None) -> tuple[Row, ...]:
    """Return the rows that BERT-base stands against, and the small model that it taught.

    The selector from its encoder alone, in two sizes; transferred, then adapted; and the
    shipped weights, which never saw the data set.
    """
    return (
        Row(SELECTOR, "none", "anchored", published, seconds),
        Row(f"{SELECTOR}-3-layers", "none", "anchored"),
        Row(SELECTOR, "none", "anchored", published, seconds, is_shipped=True),
        Row(SELECTOR, "none", UNSEEN, is_shipped=True),
        Row(COSINET, "birnn", "listwise", is_shipped=True),
        Row(COSINET, "birnn", UNSEEN, is_shipped=True),
    )


WIKIQA = Table(
    "wikiqa",
    ("wikiqa",),
    "wikiqa",
    "test",
    ("MAP", "MRR", "P@1"),
    (
        Row(COSINET, "none", "pointwise", {"MAP": 70.95, "MRR": 72.86}, 6),
        Row(COSINET, "none", "listwise", {"MAP": 71.22, "MRR": 73.07}, 5.5),
        Row(COSINET, "rnn", "listwise", {"MAP": 74.78, "MRR": 76.35}, 7.5),
        Row(COSINET, "birnn", "listwise", {"MAP": 75.62, "MRR": 77.13}, 8.9),
        Row(COSINET, "lstm", "listwise", {"MAP": 74.31, "MRR": 75.78}, 7),
        Row(COSINET, "bilstm", "listwise", {"MAP": 75.32, "MRR": 76.85}, 9.5),
        Row(CA, "none", "pointwise", {"MAP": 72.03, "MRR": 73.39}, 19),
        Row(CA, "none", "listwise", {"MAP": 71.43, "MRR": 73.55}, 18),
        Row(CA, "rnn", "listwise", {"MAP": 74.73, "MRR": 76.35}, 20),
        Row(CA, "birnn", "listwise", {"MAP": 74.97, "MRR": 76.44}, 21),
        Row(CA, "lstm", "listwise", {"MAP": 74.82, "MRR": 76.42}, 25),
        Row(CA, "bilstm", "listwise", {"MAP": 74.27, "MRR": 75.74}, 25),
        Row("rel-cnn", "none", "listwise"),
        Row("rel-cnn", "birnn", "listwise"),
        *_add_selectors({"MAP": 81.32, "MRR": 82.50}, 1070),
    ),
)

SQUAD = Table(
    "squad",
    ("squad-train-part",),
    "squad-v2",
    "dev",
    ("P@1", "MRR"),
    (
        Row(COSINET, "none", "pointwise", {"P@1": 86.18, "MRR": 91.81}, 107),
        Row(COSINET, "none", "listwise", {"P@1": 85.12, "MRR": 91.16}, 490),
        Row(COSINET, "birnn", "listwise", {"P@1": 86.18, "MRR": 91.97}, 750),
        Row(CA, "none", "pointwise", {"P@1": 85.71, "MRR": 91.49}, 390),
        Row(CA, "none", "listwise", {"P@1": 85.17, "MRR": 90.69}, 1451),
        Row(CA, "birnn", "listwise", {"P@1": 86.32, "MRR": 92.05}, 1710),
        *_add_selectors({"P@1": 92.44, "MRR": 95.62}, 24_600),
    ),
)

NQ_LA = Table(
    "nq-la",
    ("nq-la",),
    "nq-la",
    "dev",
    ("MAP", "MRR"),
    (
        Row(COSINET, "none", "pointwise", {"MAP": 69.74, "MRR": 72.69}, 4380),
        Row(COSINET, "none", "listwise", {"MAP": 68.16, "MRR": 71.06}, 1020),
        Row(COSINET, "birnn", "listwise", {"MAP": 73.28, "MRR": 76.05}, 2040),
        Row(CA, "none", "pointwise", {"MAP": 69.88, "MRR": 72.77}, 20340),
        Row(CA, "none", "listwise", {"MAP": 69.82, "MRR": 72.78}, 7200),
        Row(CA, "birnn", "listwise", {"MAP": 74.21, "MRR": 76.88}, 7800),
    ),
)


def _trecqa(name: str, split: str) -> Table:
    published = {"MAP": 80.4, "MRR": 85.3}
    return Table(
        name,
        (f"trecqa:{split}",),
        "trecqa",
        "test",
        ("MAP", "MRR"),
        (
            Row(COSINET, "none", "pointwise"),
            Row(COSINET, "none", "listwise"),
            Row(CA, "none", "pointwise", published),
            Row(CA, "none", "listwise"),
            Row("rel-cnn", "none", "listwise"),
            *_add_selectors({"MAP": 85.7, "MRR": 93.7}),
        ),
        questions="mixed",
    )


TRECQA_ALL = _trecqa("trecqa-train-all", "train-all")
TRECQA = _trecqa("trecqa-train", "train")
TABLES = {"wikiqa": (WIKIQA,), "squad": (SQUAD,), "nq-la": (NQ_LA,), "trecqa": (TRECQA_ALL, TRECQA)}
