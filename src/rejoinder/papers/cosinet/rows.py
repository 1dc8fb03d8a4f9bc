"""Rows of the tables of the Cosinet paper, as published.

Bonadiman & Moschitti 2020, Tables 4 (WikiQA), 5 (SQuAD-sent) and 6 (NQ-LA); Matsubara et al.
2020, Table 2 (TREC-QA).  Published values are percentages; published seconds are of their GTX
1080 ti.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.papers.ingredients import OWN_VECTORS, Ingredients, label_bundle

UNSEEN = "unseen"
"""In place of a loss: the shipped weights as they are."""
COSINET, CA, SELECTOR = "cosinet", "compare-aggregate", "selector"
CA_BILSTM = "compare-aggregate-bilstm"


@dataclass(frozen=True, slots=True)
class RankerRow:
    """A small ranker or a selector, trained from new or from shipped weights."""

    model: str
    head: str
    loss: str
    published: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None
    is_shipped: bool = False
    """Whether training starts from the shipped weights."""

    @property
    def label(self) -> str:
        """The model as tables print it."""
        return f"shipped-{self.model}" if self.is_shipped else self.model

    @property
    def name(self) -> str:
        """Name on the command line and in results."""
        return f"{self.label}/{self.loss}/{self.head}"

    @property
    def is_seeded(self) -> bool:
        """Whether the row is trained; else the shipped weights are measured as they are."""
        return self.loss != UNSEEN

    @property
    def needs_encoder(self) -> bool:
        """Whether training starts from a pretrained encoder, which is not shipped."""
        return self.model.startswith(SELECTOR) and not self.is_shipped

    def get_own(self, train: str) -> dict[str, str]:
        """Return what the row is made of by itself, trained on `train`; "" is anything."""
        if self.is_shipped:
            start = {"start": label_bundle(self.model)}
        else:
            start = {"encoder": DEFAULT} if self.needs_encoder else {"vectors": OWN_VECTORS}
        if not self.is_seeded:
            return start
        return {**start, "train": train, "recipe": "default", "device": "", "precision": ""}

    def to_paper(self) -> "RankerRow":
        """Return the row as the paper trains it; BERT learns pair by pair."""
        return replace(self, loss="pointwise") if self.needs_encoder else self

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain JSON types, without the published percentages."""
        names = {"model": self.label, "head": self.head, "loss": self.loss}
        return {**names, "published_seconds": self.seconds}


@dataclass(frozen=True, slots=True)
class RelatedModel:
    """A model of another paper: Table 3 of the Cosinet paper, Table 2 of Matsubara et al. 2020."""

    name: str
    pretraining: str
    """Language models and other data that it learned from first; empty if there are none."""
    published: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RankerTable:
    """Rows with their training data, test set and measures."""

    name: str
    train: str
    test: str
    measures: tuple[str, ...]
    rows: tuple[RankerRow, ...]
    protocol: str = "answered"
    paper_ca: bool = False
    """Whether its paper is Matsubara et al. 2020, with another Compare-Aggregate."""
    dev: str = ""
    """Where learning curves are measured, and that one's best epoch is chosen."""
    related: tuple[RelatedModel, ...] = ()
    """Models of other papers on the same test set."""
    paper_rows: tuple[RankerRow, ...] = ()
    """Further rows by the paper's recipe, which take too long by default."""

    def list_rows(self, ingredients: Ingredients) -> list[RankerRow]:
        """Return the rows; by the paper's recipe those that the paper has."""
        if not ingredients.is_paper:
            return list(self.rows)
        rows = [row.to_paper() for row in self.rows if row.published and not row.is_shipped]
        if self.paper_ca:
            rows = [replace(row, model=CA_BILSTM) if row.model == CA else row for row in rows]
        return [*rows, *self.paper_rows]


def _list_selectors(
    published: Mapping[str, float], seconds: float | None = None
) -> tuple[RankerRow, ...]:
    """Return the rows to compare with BERT-base, and the small model that the selector taught.

    Shipped weights never saw the data set; `anchored` adapts them to it.
    """
    return (
        RankerRow(SELECTOR, "none", "anchored", published, seconds),
        RankerRow(f"{SELECTOR}-3-layers", "none", "anchored"),
        RankerRow(SELECTOR, "none", "anchored", published, seconds, is_shipped=True),
        RankerRow(SELECTOR, "none", UNSEEN, is_shipped=True),
        RankerRow(COSINET, "birnn", "listwise", is_shipped=True),
        RankerRow(COSINET, "birnn", UNSEEN, is_shipped=True),
    )


_WIKIQA = (
    RankerRow(COSINET, "none", "pointwise", {"MAP": 70.95, "MRR": 72.86}, 6),
    RankerRow(COSINET, "none", "listwise", {"MAP": 71.22, "MRR": 73.07}, 5.5),
    RankerRow(COSINET, "rnn", "listwise", {"MAP": 74.78, "MRR": 76.35}, 7.5),
    RankerRow(COSINET, "birnn", "listwise", {"MAP": 75.62, "MRR": 77.13}, 8.9),
    RankerRow(COSINET, "lstm", "listwise", {"MAP": 74.31, "MRR": 75.78}, 7),
    RankerRow(COSINET, "bilstm", "listwise", {"MAP": 75.32, "MRR": 76.85}, 9.5),
    RankerRow(CA, "none", "pointwise", {"MAP": 72.03, "MRR": 73.39}, 19),
    RankerRow(CA, "none", "listwise", {"MAP": 71.43, "MRR": 73.55}, 18),
    RankerRow(CA, "rnn", "listwise", {"MAP": 74.73, "MRR": 76.35}, 20),
    RankerRow(CA, "birnn", "listwise", {"MAP": 74.97, "MRR": 76.44}, 21),
    RankerRow(CA, "lstm", "listwise", {"MAP": 74.82, "MRR": 76.42}, 25),
    RankerRow(CA, "bilstm", "listwise", {"MAP": 74.27, "MRR": 75.74}, 25),
    RankerRow("rel-cnn", "none", "listwise"),
    RankerRow("rel-cnn", "birnn", "listwise"),
    *_list_selectors({"MAP": 81.32, "MRR": 82.50}, 1070),
)
_SQUAD = (
    RankerRow(COSINET, "none", "pointwise", {"P@1": 86.18, "MRR": 91.81}, 107),
    RankerRow(COSINET, "none", "listwise", {"P@1": 85.12, "MRR": 91.16}, 490),
    RankerRow(COSINET, "birnn", "listwise", {"P@1": 86.18, "MRR": 91.97}, 750),
    RankerRow(CA, "none", "pointwise", {"P@1": 85.71, "MRR": 91.49}, 390),
    RankerRow(CA, "none", "listwise", {"P@1": 85.17, "MRR": 90.69}, 1451),
    RankerRow(CA, "birnn", "listwise", {"P@1": 86.32, "MRR": 92.05}, 1710),
    *_list_selectors({"P@1": 92.44, "MRR": 95.62}, 24_600),
)
_NQ_LA = (
    RankerRow(COSINET, "none", "pointwise", {"MAP": 69.74, "MRR": 72.69}, 4380),
    RankerRow(COSINET, "none", "listwise", {"MAP": 68.16, "MRR": 71.06}, 1020),
    RankerRow(COSINET, "birnn", "listwise", {"MAP": 73.28, "MRR": 76.05}, 2040),
    RankerRow(CA, "none", "pointwise", {"MAP": 69.88, "MRR": 72.77}, 20340),
    RankerRow(CA, "none", "listwise", {"MAP": 69.82, "MRR": 72.78}, 7200),
    RankerRow(CA, "birnn", "listwise", {"MAP": 74.21, "MRR": 76.88}, 7800),
)
_TRECQA = (
    RankerRow(COSINET, "none", "pointwise"),
    RankerRow(COSINET, "none", "listwise"),
    RankerRow(CA, "none", "pointwise", {"MAP": 80.4, "MRR": 85.3}),
    RankerRow(CA, "none", "listwise"),
    RankerRow("rel-cnn", "none", "listwise"),
    *_list_selectors({"MAP": 85.7, "MRR": 93.7}),
)
_RELATED = tuple(
    RelatedModel(name, pretraining, {"MAP": mean_precision, "MRR": reciprocal_rank})
    for name, pretraining, mean_precision, reciprocal_rank in (
        ("Tay et al. 2018a", "", 71.20, 72.70),
        ("Wang & Jiang 2016", "", 74.33, 75.45),
        ("Wang & Jiang 2016, run again with several seeds", "", 72.38, 73.44),
        ("Sha et al. 2018", "", 74.62, 75.76),
        ("Bian et al. 2017", "", 75.40, 76.40),
        ("Yoon et al. 2018", "ELMo, transfer from QNLI", 83.40, 84.80),
        ("Lai et al. 2019", "BERT, transfer from QNLI", 85.70, 87.20),
        ("Garg et al. 2019", "RoBERTa-large, transfer from Natural Questions", 92.00, 93.30),
        ("Matsubara et al. 2020, Compare-Aggregate", "", 71.5, 72.5),
        ("Matsubara et al. 2020, BERT-base", "BERT", 81.3, 82.8),
    )
)
_MAP, _PRECISION = ("MAP", "MRR"), ("P@1", "MRR")
TABLES = {
    "wikiqa": [
        RankerTable(
            *("wikiqa", "wikiqa", "wikiqa:test", (*_MAP, "P@1"), _WIKIQA),
            dev="wikiqa:dev",
            related=_RELATED,
            # Matsubara et al. 2020, Table 2, with their own Compare-Aggregate.
            paper_rows=(RankerRow(CA_BILSTM, "none", "pointwise", {"MAP": 71.5, "MRR": 72.5}),),
        )
    ],
    "squad": [RankerTable("squad", "squad-train-part", "squad-v2:dev", _PRECISION, _SQUAD)],
    "nq-la": [RankerTable("nq-la", "nq-la", "nq-la:dev", _MAP, _NQ_LA)],
    "trecqa": [
        RankerTable(
            *(f"trecqa-{split}", f"trecqa:{split}", "trecqa:test", _MAP, _TRECQA, "mixed"),
            paper_ca=True,
            dev="trecqa:dev",
        )
        for split in ("train-all", "train")
    ],
}
