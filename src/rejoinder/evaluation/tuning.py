"""Chooses the stages of a cascade by accuracy and latency, and writes its file."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import structs

from rejoinder.cascade.calibration import Facts
from rejoinder.cascade.file import CascadeFile, Point, StageLine, name_scorer, write_cascade_file
from rejoinder.cascade.loading import load
from rejoinder.datasets.catalogue import open_for_tuning
from rejoinder.datasets.transforms.long_lists import extend_lists
from rejoinder.errors import InputError
from rejoinder.evaluation.replay import (
    Contender,
    Outcome,
    choose,
    find_frontier,
    measure_recall,
    replay,
)
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.evaluation.timing import measure_cost, measure_latency
from rejoinder.models.passages import PASSAGES, PassageScorer
from rejoinder.types import Example

RECALLS = (1, 10, 50, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """Options of `tune`."""

    to: Path
    """The cascade file to write."""
    size: int | None = None
    """Extend each list to this many candidates."""
    questions: int = 500
    """Read at most this many questions."""
    budget_ms: float | None = None
    """Choose the most accurate cascade within this latency."""
    max_loss: float = 0.005
    """Without a budget: choose the fastest that loses at most this much P@1."""
    document_prior: float = 0.75
    """Also try first stages with a document prior of this weight; 0 tries none."""
    fusion: float = 0.0
    """Also try later stages that are fused with the one before by this weight; 0 tries none."""
    passage_scorers: Sequence[str | Path] = ()
    """Names or paths of scorers that may become stages that read passages."""
    score_cache: Path | None = None
    """Save every scored list in this file, and resume from it."""
    plot: Path | None = None
    """Write a plot of accuracy against latency."""
    folder: Path | None = None
    """The folder of data sets that is searched first."""


@dataclass(frozen=True, slots=True)
class TuneResult:
    """Every cascade that was tried, and the one that was chosen."""

    dataset: str
    questions: int
    candidates: float
    """Mean length of a list."""
    contenders: Sequence[Contender]
    """The scorers, cheapest first."""
    recalls: Sequence[dict[int, float]]
    """Of each contender, by k."""
    outcomes: Sequence[Outcome]
    frontier: Sequence[Outcome]
    """Fastest first."""
    chosen: Outcome
    measured_ms: float
    """Measured latency of the chosen cascade."""

    @property
    def best_alone(self) -> Outcome:
        """The most accurate single scorer."""
        return max((item for item in self.outcomes if not item.keeps), key=lambda it: it.accuracy)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON types."""
        return {
            "dataset": self.dataset,
            "questions": self.questions,
            "candidates": self.candidates,
            "scorers": [
                {"scorer": item.name, "cost": structs.asdict(item.cost), "recall": recall}
                for item, recall in zip(self.contenders, self.recalls, strict=True)
            ],
            "frontier": [_to_dict(item) for item in self.frontier],
            "chosen": {**_to_dict(self.chosen), "measured_ms": self.measured_ms},
        }


def tune(
    scorers: Sequence[str | Path],
    dataset: str | Path | Iterable[Example],
    options: TuneOptions,
    *,
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
) -> TuneResult:
    """Find the best cascades of up to three scorers, and write the chosen one.

    Args:
        scorers: names or paths for `rejoinder.load`, of the scorers that may become stages.
        dataset: NAME[:SPLIT], a JSON-lines file, or examples; by default the split is dev.
            Only questions with an answer are used.
        on_progress: called with the questions done, their number, and a note.

    Raises:
        InputError: no question has an answer, nothing is as fast as the budget, or a file
            cannot be written.
        UnknownNameError: no scorer, data set or split has this name.
    """
    name = str(dataset) if isinstance(dataset, str | Path) else "examples"
    examples = _read(dataset, options)
    if not examples:
        raise InputError(f"{name}: no question has an answer")
    contenders = _time_scorers(scorers, options, examples)
    cached = [
        replace(item, scorer=CachedScorer(item.scorer, path=options.score_cache))
        for item in contenders
    ]
    outcomes = replay(
        _add_variants(cached, options),
        examples,
        on_question=lambda done: on_progress(done, len(examples), ""),
    )
    recalls = [measure_recall(item.scorer, examples, RECALLS) for item in cached]
    frontier = find_frontier(outcomes)
    chosen = choose(frontier, budget_ms=options.budget_ms, max_loss=options.max_loss)
    size = sum(len(item.candidates) for item in examples) / len(examples)
    result = TuneResult(
        name, len(examples), size, contenders, recalls, outcomes, frontier, chosen, measured_ms=0.0
    )
    _write(options.to, result)
    result = replace(result, measured_ms=measure_latency(load(options.to), examples))
    if options.plot:
        from rejoinder.evaluation.plots import plot_frontier

        plot_frontier(options.plot, outcomes, frontier, chosen)
    return result


def _read(dataset: str | Path | Iterable[Example], options: TuneOptions) -> list[Example]:
    examples = open_for_tuning(dataset, options.folder)
    if options.size:
        examples = extend_lists(list(examples), size=options.size)
    return list(islice((item for item in examples if any(item.labels)), options.questions))


def _time_scorers(
    scorers: Sequence[str | Path], options: TuneOptions, examples: Sequence[Example]
) -> list[Contender]:
    """Return the scorers with their costs, cheapest first."""
    size, folder = max(len(item.candidates) for item in examples), options.to.parent
    loaded = {name_scorer(name, folder): load(name) for name in scorers}
    for name in options.passage_scorers:
        loaded[name_scorer(name, folder) + PASSAGES] = PassageScorer(load(name))
    if options.passage_scorers and not _have_passages(examples):
        raise InputError(
            "no candidate has a passage to read; leave out the passage scorers, or make lists with"
            " passages (rejoinder mine --passages)"
        )
    contenders = [
        Contender(name, scorer, measure_cost(scorer, examples)) for name, scorer in loaded.items()
    ]
    return sorted(contenders, key=lambda item: item.cost.predict(size, 25 * size))


def _have_passages(examples: Sequence[Example]) -> bool:
    return any(item.passage is not None for example in examples for item in example.candidates)


def _add_variants(contenders: Sequence[Contender], options: TuneOptions) -> list[Contender]:
    """Return the contenders with their variants.

    Each but the most expensive also with a document prior, each but the cheapest also fused.
    """
    result: list[Contender] = []
    for item in contenders:
        if options.document_prior and item is not contenders[-1]:
            result.append(replace(item, document_prior=options.document_prior))
        result.append(item)
        if options.fusion and item is not contenders[0]:
            result.append(replace(item, fusion=options.fusion))
    return result


def _write(path: Path, result: TuneResult) -> None:
    chosen = result.chosen
    costs = {item.name: item.cost for item in result.contenders}
    keeps = [*chosen.keeps, None]
    stages = [
        StageLine(
            name.removesuffix(PASSAGES),
            keep,
            costs[name],
            reads="passage" if name.endswith(PASSAGES) else "sentence",
        )
        for name, keep in zip(chosen.names, keeps, strict=True)
    ]
    stages[0] = structs.replace(stages[0], document_prior=chosen.document_prior)
    stages = [structs.replace(s, fusion=f) for s, f in zip(stages, chosen.fusions, strict=True)]
    facts: Facts = {
        "dataset": result.dataset,
        "questions": result.questions,
        "candidates": round(result.candidates),
        "P@1": round(100 * chosen.accuracy, 2),
        "predicted_ms": round(chosen.latency_ms, 2),
    }
    points = tuple(
        Point(item.label, round(100 * item.accuracy, 2), round(item.latency_ms, 2))
        for item in result.frontier
    )
    cascade = CascadeFile(path.stem, tuple(stages), tuned=facts, frontier=points)
    write_cascade_file(path, cascade)


def _to_dict(outcome: Outcome) -> dict[str, Any]:
    return {
        "stages": list(outcome.names),
        "keeps": list(outcome.keeps),
        "document_prior": outcome.document_prior,
        "fusions": list(outcome.fusions),
        "P@1": outcome.accuracy,
        "predicted_ms": outcome.latency_ms,
    }
