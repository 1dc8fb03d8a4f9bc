"""The sequential rerankers of Matsubara et al. 2020, on lists of open data.

"Reranking for Efficient Transformer-based Answer Selection", Tables 4 and 5: a first scorer
hands its k best candidates to a selector; accuracy (P@1) and latency stand against the
selector on all candidates.  Their lists are ASNQ (about 350 candidates) and ASNQ++ (1,300);
where those are missing, ours are built the same way from SQuAD v2.0 dev and WikiQA test.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from rejoinder.cascade.budget import Cost
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.datasets.transforms.long_lists import extend_lists
from rejoinder.evaluation.replay import Contender, Outcome, replay
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.evaluation.significance import Interval
from rejoinder.evaluation.timing import measure_latency
from rejoinder.types import Example

KEEPS = (10, 20, 50, 100, 200, 300)
SIZES = (350, 1300)
SETS = (("squad-v2", "dev"), ("wikiqa", "test"), ("asnq", "dev"))
LARGE_POOL = 2000
"""Questions that are more than enough to draw negatives from."""
TIMED = 10
"""Questions whose latency is measured, of each row."""


@dataclass(frozen=True, slots=True)
class Published:
    """A row of the paper: P@1 as a percentage, seconds per question on their machine."""

    dataset: str
    selector: str
    first: str
    keep: int | None
    accuracy: float
    seconds: float


PUBLISHED = (
    Published("ASNQ", "BERT-Base", "Jaccard", 100, 47.4, 0.352),
    Published("ASNQ", "BERT-Base", "CA", 100, 56.9, 0.458),
    Published("ASNQ", "BERT-Base", "", None, 57.1, 1.300),
    Published("ASNQ", "BERT-Large", "Jaccard", 100, 49.2, 0.819),
    Published("ASNQ", "BERT-Large", "CA", 100, 59.6, 0.926),
    Published("ASNQ", "BERT-Large", "", None, 59.9, 3.320),
    Published("ASNQ++", "BERT-Base", "Jaccard", 100, 44.3, 0.580),
    Published("ASNQ++", "BERT-Base", "CA", 100, 52.8, 0.924),
    Published("ASNQ++", "BERT-Base", "", None, 53.6, 4.230),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A first scorer with a selector, held against the selector on all candidates."""

    selector: str
    first: str
    """Empty for the selector on all candidates."""
    keep: int | None
    accuracy: float
    latency_ms: float
    speed_up: float
    difference: float
    interval: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain JSON types."""
        return asdict(self)


def build_lists(examples: Sequence[Example], *, size: int, questions: int) -> list[Example]:
    """Return answerable questions, spread evenly over the set, with long lists."""
    answerable = [item for item in examples if any(item.labels)]
    step = max(1, len(answerable) // questions)
    chosen = answerable[::step][:questions]
    wanted = {item.id for item in chosen}
    # The negatives of a small set come from all of its questions.
    pool = examples if len(examples) <= LARGE_POOL else chosen
    found = (item for item in extend_lists(pool, size=size) if item.id in wanted)
    return list(islice(found, questions))


def measure_rows(
    firsts: Sequence[CachedScorer],
    selectors: Sequence[CachedScorer],
    examples: Sequence[Example],
    *,
    keeps: Sequence[int] = KEEPS,
    on_question: Callable[[int], None] = lambda _: None,
) -> Iterator[Row]:
    """Yield the rows: for each selector itself on all candidates, then behind each first scorer.

    Accuracies are replayed from one pass over all pairs; latencies are measured live.
    """
    scorers = {asked.name: asked.scorer for asked in (*firsts, *selectors)}
    lasts = {asked.name for asked in selectors}
    contenders = [Contender(asked.name, asked, Cost()) for asked in (*firsts, *selectors)]
    outcomes = replay(
        contenders,
        examples,
        keeps=keeps,
        is_included=lambda names: len(names) == 1 or (len(names) == 2 and _is_pair(names, lasts)),
        on_question=on_question,
    )
    for selector in (asked.scorer for asked in selectors):
        (whole,) = (item for item in outcomes if item.names == (selector.name,))
        whole_ms = measure_latency(selector, examples, most=TIMED)
        yield _to_row(whole, whole, whole_ms, whole_ms)
        for item in outcomes:
            if len(item.names) == 2 and item.names[-1] == selector.name:
                cascade = Cascade(
                    item.label, [Stage(scorers[item.names[0]], item.keeps[0]), Stage(selector)]
                )
                latency_ms = measure_latency(cascade, examples, most=TIMED)
                yield _to_row(item, whole, latency_ms, whole_ms)


def _is_pair(names: tuple[str, ...], lasts: set[str]) -> bool:
    return names[0] not in lasts and names[1] in lasts


def _to_row(item: Outcome, whole: Outcome, latency_ms: float, whole_ms: float) -> Row:
    return Row(
        item.names[-1],
        item.names[0] if item.keeps else "",
        item.keeps[0] if item.keeps else None,
        item.accuracy,
        latency_ms,
        whole_ms / latency_ms,
        item.accuracy - whole.accuracy,
        item.compare_with(whole),
    )
