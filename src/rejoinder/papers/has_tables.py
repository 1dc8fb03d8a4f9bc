"""Table 5 of Xu & Li 2020, "Hashing based Answer Selection": its rows, and ours beside them.

Percentages; theirs use BERT-base, InsuranceQA V1, and five runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rejoinder.models.has.module import HasConfig

BETAS = (1.0, 2.0, 5.0, 10.0, 20.0)
DELTAS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4)
RELATED = "+relatedness"


@dataclass(frozen=True, slots=True)
class HasRow:
    """One model of a table."""

    name: str
    config: HasConfig
    published: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HasTable:
    """What models are trained, chosen and tested on."""

    name: str
    train: str
    dev: str
    test: str
    measures: tuple[str, ...]
    rows: tuple[HasRow, ...]
    epochs: int
    pool: int | None = None
    """Lengthen the lists of the test to so many candidates."""
    train_questions: int | None = None
    dev_questions: int = 300
    test_questions: int | None = None
    note: str = ""


def _make_rows(**published: Mapping[str, float]) -> tuple[HasRow, ...]:
    """Return the paper's three models, then variants that store or compute less."""
    config = HasConfig()
    rows = [
        HasRow(name, replace(config, composition=name), published.get(name, {}))
        for name in ("pooling", "attention", "has")
    ]
    narrow = (HasRow(f"has-{width}", replace(config, width=width)) for width in (256, 128))
    small = HasRow("has-attention-32", replace(config, attention_width=32))
    # Beside HAS itself: the same network, trained once for both.
    return (*rows, HasRow(f"has{RELATED}", config), *narrow, small)


def _make_study() -> tuple[HasRow, ...]:
    """Return a row for each beta at the usual delta, and for each delta at the usual beta."""
    usual = HasConfig()
    configs = [replace(usual, beta=beta) for beta in BETAS]
    configs += [replace(usual, delta=delta) for delta in DELTAS if delta != usual.delta]
    return tuple(
        HasRow(f"beta={config.beta:g} delta={config.delta:g}", config) for config in configs
    )


TABLES = (
    HasTable(
        "wikiqa",
        "wikiqa:train",
        "wikiqa:dev",
        "wikiqa:test",
        ("MAP", "MRR"),
        _make_rows(
            pooling={"MAP": 77.22, "MRR": 78.27},
            attention={"MAP": 80.65, "MRR": 81.83},
            has={"MAP": 81.01, "MRR": 82.22},
        ),
        epochs=18,
    ),
    HasTable(
        "squad-pools",
        "squad-train-part:fit",
        "squad-train-part:dev",
        "squad-v2:dev",
        ("P@1", "MRR"),
        _make_rows(),
        epochs=2,
        pool=500,
        test_questions=500,
        note="answerable questions, each with 500 candidates: its article, then others",
    ),
    HasTable(
        "insuranceqa",
        "insuranceqa:train",
        "insuranceqa:valid",
        "insuranceqa:test",
        ("P@1", "MRR"),
        _make_rows(),
        epochs=2,
        train_questions=4_000,
        dev_questions=50,
        note="4,000 of V2's questions, 200 negatives each: not comparable with the paper's V1",
    ),
    HasTable(
        "insuranceqa-v1",
        "insuranceqa-v1:train",
        "insuranceqa-v1:dev",
        "insuranceqa-v1:test1",
        ("P@1",),
        _make_rows(pooling={"P@1": 74.52}, attention={"P@1": 76.12}, has={"P@1": 76.38}),
        epochs=2,
        dev_questions=50,
    ),
    HasTable(
        "yahooqa",
        "yahooqa:train",
        "yahooqa:dev",
        "yahooqa:test",
        ("P@1", "MRR"),
        _make_rows(
            pooling={"P@1": 73.49, "MRR": 81.93},
            attention={"P@1": 74.78, "MRR": 82.68},
            has={"P@1": 73.89, "MRR": 82.10},
        ),
        epochs=2,
        note="all-MiniLM saw Yahoo Answers in its own training",
    ),
)
STUDY = HasTable(
    "wikiqa-study",
    "wikiqa:train",
    "wikiqa:dev",
    "wikiqa:dev",
    ("MAP", "MRR"),
    _make_study(),
    epochs=18,
    note="on the dev part, where it is also chosen which epoch is kept",
)
