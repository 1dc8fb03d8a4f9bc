"""Tables and rows of Xu & Li 2020, "Hashing based Answer Selection", Tables 2 to 6.

Published values are percentages; theirs use BERT-base, InsuranceQA V1 and five runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rejoinder.models.has.module import HasConfig
from rejoinder.papers.has import published
from rejoinder.papers.ingredients import OWN_VECTORS, Ingredients, label_encoder
from rejoinder.papers.table import PrintedTable, TableOptions
from rejoinder.training.has import DEFAULTS
from rejoinder.training.loop import Recipe

BETAS = (1.0, 2.0, 5.0, 10.0, 20.0)
DELTAS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4)
RELATED = "+relatedness"


@dataclass(frozen=True, slots=True)
class HasRow:
    """A composition of words into answers, with its hyper-parameters."""

    name: str
    config: HasConfig
    published: Mapping[str, float] = field(default_factory=dict)
    is_seeded: bool = True

    def change(self, changes: Mapping[str, Any]) -> HasConfig:
        """Return the network's settings with others, but for the one that names the row."""
        own = (
            {}
            if "attention-" not in self.name
            else {"attention_width": self.config.attention_width}
        )
        return replace(self.config, **{**changes, **own})

    def get_own(self, train: str) -> dict[str, str]:
        """Return what the row is made of by itself, trained on `train`; "" is anything."""
        vectors = {"vectors": OWN_VECTORS} if self.name.endswith(RELATED) else {}
        own = {"encoder": label_encoder(self.config.encoder), **vectors, "train": train}
        return {**own, "recipe": "default", "device": "", "precision": ""}


@dataclass(frozen=True, slots=True)
class PaperRecipe:
    """What the paper sets for each data set ("Hyperparameters and Baselines")."""

    epochs: int
    batch: int = 32
    attention_width: int = 128

    def make(self) -> Recipe:
        """Return the recipe of a training; the paper clips no gradient."""
        return Recipe(
            *("triplet", self.epochs, self.batch),
            learning_rate=5e-6,
            weight_decay=DEFAULTS["weight_decay"],
        )


PAPER_TOKENS = 200
"""L: the 14.29 GB of Table 6 are 24,981 answers of 200 words with 768 floats each."""


@dataclass(frozen=True, slots=True)
class HasTable:
    """Rows with the sets that they are trained, chosen and tested on."""

    name: str
    train: str
    dev: str
    test: str
    measures: tuple[str, ...]
    rows: tuple[HasRow, ...]
    epochs: int
    paper: PaperRecipe | None = None
    """The paper's own recipe, where the paper has the data set."""
    pool: int | None = None
    """Length of the test's candidate lists, where they are lengthened."""
    train_questions: int | None = None
    dev_questions: int = 300
    test_questions: int | None = None
    note: str = ""
    second_test: str = ""
    """Another test set; its measures are those in `second_measures`."""
    others: PrintedTable | None = None
    """The paper's table with the models of other papers."""

    @property
    def second_measures(self) -> tuple[str, ...]:
        """The measures on the second test set: P@1 (test2)."""
        split = self.second_test.partition(":")[2]
        return tuple(f"{name} ({split})" for name in self.measures) if split else ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The measures on all test sets."""
        return (*self.measures, *self.second_measures)


def _make_rows(**figures: Mapping[str, float]) -> tuple[HasRow, ...]:
    """Return the paper's three models, then variants that store or compute less."""
    config = HasConfig()
    rows = [
        HasRow(name, replace(config, composition=name), figures.get(name, {}))
        for name in ("pooling", "attention", "has")
    ]
    narrow = (HasRow(f"has-{width}", replace(config, width=width)) for width in (256, 128))
    small = HasRow("has-attention-32", replace(config, attention_width=32))
    # Next to HAS: the same network, trained once for both.
    return (*rows, HasRow(f"has{RELATED}", config), *narrow, small)


def _make_study() -> tuple[HasRow, ...]:
    """Return a row for each beta at the default delta, and for each delta at the default beta."""
    default = HasConfig()
    configs = [replace(default, beta=beta) for beta in BETAS]
    configs += [replace(default, delta=delta) for delta in DELTAS if delta != default.delta]
    return tuple(
        HasRow(f"beta={config.beta:g} delta={config.delta:g}", config) for config in configs
    )


_WIKIQA = ("wikiqa:train", "wikiqa:dev")
_MAP, _PRECISION = ("MAP", "MRR"), ("P@1", "MRR")
TABLES = (
    HasTable(
        *("wikiqa", *_WIKIQA, "wikiqa:test", _MAP),
        _make_rows(
            pooling={"MAP": 77.22, "MRR": 78.27},
            attention={"MAP": 80.65, "MRR": 81.83},
            has={"MAP": 81.01, "MRR": 82.22},
        ),
        epochs=18,
        paper=PaperRecipe(18),
        others=published.WIKIQA,
    ),
    HasTable(
        *("squad-pools", "squad-train-part:fit", "squad-train-part:dev", "squad-v2:dev"),
        *(_PRECISION, _make_rows()),
        epochs=2,
        pool=500,
        test_questions=500,
        note="answerable questions, each with 500 candidates: its article, then others",
    ),
    HasTable(
        *("insuranceqa", "insuranceqa:train", "insuranceqa:valid", "insuranceqa:test"),
        *(_PRECISION, _make_rows()),
        epochs=2,
        train_questions=4_000,
        dev_questions=50,
        note="4,000 of V2's questions, 200 negatives each: not comparable with the paper's V1",
    ),
    HasTable(
        *("insuranceqa-v1", "insuranceqa-v1:train", "insuranceqa-v1:dev", "insuranceqa-v1:test1"),
        ("P@1",),
        _make_rows(
            pooling={"P@1": 74.52, "P@1 (test2)": 71.97},
            attention={"P@1": 76.12, "P@1 (test2)": 74.12},
            has={"P@1": 76.38, "P@1 (test2)": 73.71},
        ),
        epochs=2,
        paper=PaperRecipe(60, attention_width=768),
        dev_questions=50,
        note="P@1 is on test1; by the paper's recipe the epoch is chosen on all of dev",
        second_test="insuranceqa-v1:test2",
        others=published.INSURANCEQA,
    ),
    HasTable(
        *("yahooqa", "yahooqa:train", "yahooqa:dev", "yahooqa:test", _PRECISION),
        _make_rows(
            pooling={"P@1": 73.49, "MRR": 81.93},
            attention={"P@1": 74.78, "MRR": 82.68},
            has={"P@1": 73.89, "MRR": 82.10},
        ),
        epochs=2,
        paper=PaperRecipe(9, batch=64),
        others=published.YAHOOQA,
    ),
)
DEFAULT_TABLES = ("wikiqa", "squad-pools")
_ON_DEV_NOTE = "on the dev part, where it is also chosen which epoch is kept"
STUDY = HasTable(
    *("wikiqa-study", *_WIKIQA, "wikiqa:dev", _MAP, _make_study()),
    epochs=18,
    paper=PaperRecipe(18),
    note=_ON_DEV_NOTE,
)
INSURANCEQA_STUDY = HasTable(
    *("insuranceqa-v1-study", "insuranceqa-v1:train", "insuranceqa-v1:dev", "insuranceqa-v1:dev"),
    *(("P@1",), _make_study()),
    epochs=2,
    paper=PaperRecipe(60, attention_width=768),
    note=_ON_DEV_NOTE,
)
STUDIES = {"wikiqa": STUDY, "insuranceqa-v1": INSURANCEQA_STUDY}
"""The studies of beta and delta: the paper's Figures 3 and 2."""


@dataclass(frozen=True, slots=True)
class HasTableOptions(TableOptions):
    """Options of `reproduce_has`."""

    tables: Sequence[str] = ()
    """Names of `TABLES`; by default those of `DEFAULT_TABLES`, or by the paper's recipe all that
    the paper has."""
    epochs: int | None = None
    learning_rate: float | None = None
    batch: int | None = None
    """Triplets per step."""
    attention_width: int | None = None
    """M of the paper, of all rows but those that are named by their own."""
    max_tokens: int | None = None
    """L of the paper."""
    int8: bool = True
    """Whether rows are measured as int8 bundles, not fp32."""
    study: bool = False
    """Only the study over beta and delta."""
    plot: Path | None = None
    """Plot of the study."""
    costs: bool = False
    """Only time and memory."""

    @property
    def bundle_precision(self) -> str:
        """The precision of the measured bundles."""
        return "int8" if self.int8 else "fp32"


def set_rows(
    table: HasTable, ingredients: Ingredients, options: HasTableOptions | None = None
) -> list[HasRow]:
    """Return the rows with the encoder and the widths that are given.

    By the paper's recipe, the rows are those of the paper.
    """
    rows, changes = list(table.rows), dict[str, Any]()
    if ingredients.is_paper and table.paper is not None:
        changes = {"attention_width": table.paper.attention_width, "max_tokens": PAPER_TOKENS}
        is_study = table in STUDIES.values()
        rows = [row for row in rows if row.published or is_study]
    given = {
        "encoder": ingredients.encoder,
        "attention_width": options and options.attention_width,
        "max_tokens": options and options.max_tokens,
    }
    changes |= {name: value for name, value in given.items() if value is not None}
    return [replace(row, config=row.change(changes)) for row in rows]
