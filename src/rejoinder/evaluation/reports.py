"""Ranks the questions of a data set with a scorer and measures the rankings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rejoinder.cascade.loading import load
from rejoinder.datasets.catalogue import open_dataset, resolve_split
from rejoinder.errors import InputError
from rejoinder.evaluation.measures import (
    DEFAULT_MEASURES,
    Protocol,
    Values,
    measure,
    parse_measures,
)
from rejoinder.evaluation.stored_answers import storing_answers
from rejoinder.evaluation.trec import (
    RankedQuestion,
    RunFile,
    is_qrels_file,
    is_run_file,
    read_qrels,
    read_run,
)
from rejoinder.models.registry import list_named
from rejoinder.models.scorer import Scorer
from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a scorer under a protocol: per question, and as means."""

    scorer: str
    protocol: Protocol
    rankings_by_seed: tuple[tuple[RankedQuestion, ...], ...]
    values_by_seed: tuple[Values, ...]
    dataset: str | None = None
    """The name of the data set, if it was opened by name."""
    split: str | None = None

    @property
    def rankings(self) -> tuple[RankedQuestion, ...]:
        """The rankings of the first seed."""
        return self.rankings_by_seed[0]

    @property
    def values(self) -> Values:
        """For each measure, the value of each question, averaged over seeds."""
        if len(self.values_by_seed) == 1:
            return self.values_by_seed[0]
        return {
            name: [fmean(values) for values in zip(*self._get_seeds(name), strict=True)]
            for name in self.values_by_seed[0]
        }

    @property
    def means(self) -> dict[str, float]:
        """For each measure, the mean over questions and seeds."""
        return {name: fmean(means) for name, means in self._means_by_seed.items()}

    @property
    def deviations(self) -> dict[str, float]:
        """For each measure, the sample standard deviation over seeds; empty with one seed."""
        if len(self.values_by_seed) == 1:
            return {}
        return {name: stdev(means) for name, means in self._means_by_seed.items()}

    @property
    def _means_by_seed(self) -> dict[str, list[float]]:
        names = self.values_by_seed[0]
        return {name: [fmean(run) for run in self._get_seeds(name)] for name in names}

    def _get_seeds(self, name: str) -> list[list[float]]:
        return [run[name] for run in self.values_by_seed]

    def to_dict(self) -> dict[str, Any]:
        """Return the means with their protocol as plain JSON types."""
        seeds = len(self.values_by_seed)
        return {
            "dataset": self.dataset,
            "split": self.split,
            "scorer": self.scorer,
            "protocol": self.protocol.questions,
            "ties": self.protocol.ties,
            "words": self.protocol.words,
            "questions": len(self.rankings),
            "candidates": sum(len(item.labels) for item in self.rankings),
            **self.means,
            **({"seeds": seeds, "deviations": self.deviations} if seeds > 1 else {}),
        }

    def list_questions(self) -> list[dict[str, Any]]:
        """Return one plain object per seed and question: its values, its candidates best first.

        They name their seed where there are several.
        """
        seeds = zip(self.rankings_by_seed, self.values_by_seed, strict=True)
        return [
            {
                **({"seed": seed} if len(self.values_by_seed) > 1 else {}),
                "id": item.question_id,
                "question": item.question,
                **{name: own[place] for name, own in values.items()},
                "candidates": [
                    {"id": id_, "label": int(label), "score": score}
                    for id_, label, score in zip(
                        item.candidate_ids, item.labels, item.scores, strict=True
                    )
                ],
            }
            for seed, (rankings, values) in enumerate(seeds)
            for place, item in enumerate(rankings)
        ]


def evaluate(
    scorer: str | Path | Scorer,
    dataset: str | Path | Iterable[Example],
    *,
    split: str | None = None,
    folder: Path | None = None,
    protocol: Protocol | None = None,
    measures: Sequence[str] = DEFAULT_MEASURES,
    seeds: int = 1,
) -> Report:
    """Rank every question that counts, and measure the rankings.

    Args:
        scorer: a name or path for `rejoinder.load`, which is loaded with the words of the
            protocol; a run file of TREC; or a scorer, and then `protocol.words` is only reported.
        dataset: NAME[:SPLIT], a JSON-lines file, or examples; for run files also a qrels file of
            TREC.
        split: of a data set by name; see `rejoinder.datasets.catalogue.open_dataset`.
        folder: searched first for the files of the data set.
        seeds: evaluate with the seeds 0 to `seeds` - 1, for a scorer that draws random numbers.

    Raises:
        InputError: no question counts under the protocol, no measure is named, several
            seeds are given for a scorer that draws no random numbers, or a scorer that is no run
            is to read a qrels file.
        UnknownNameError: no scorer, data set, split or measure has this name.
    """
    protocol = protocol or Protocol()
    name, split, opened = open_examples(dataset, split, folder, [scorer])
    # A stream is read again for each seed.
    examples = list(opened) if seeds > 1 and isinstance(opened, Iterator) else opened
    runs = [_open(scorer, protocol, seed) for seed in range(seeds)]
    named = list_named().get(str(scorer))
    if seeds > 1 and not (named and named.is_seeded):
        raise InputError(f"scorer {runs[0].name!r} draws no random numbers; leave out the seeds")
    parse_measures(measures)  # fails before the work, not after it
    rankings = tuple(_rank_all(run, examples, protocol) for run in runs)
    if not rankings[0]:
        raise InputError(f"no question counts under protocol {protocol.questions!r}")
    if isinstance(runs[0], RunFile) and not any(item.labels for item in rankings[0]):
        raise InputError(f"{runs[0].path}: ranks none of the questions; it is of another data set")
    values = tuple(
        measure([item.labels for item in ranked], measures, [item.unranked for item in ranked])
        for ranked in rankings
    )
    return Report(runs[0].name, protocol, rankings, values, name, split)


def join_reports(reports: Sequence[Report], name: str) -> Report:
    """Return the reports of one model with several seeds as one."""
    return replace(
        reports[0],
        scorer=name,
        rankings_by_seed=tuple(run for one in reports for run in one.rankings_by_seed),
        values_by_seed=tuple(run for one in reports for run in one.values_by_seed),
    )


def _open(scorer: str | Path | Scorer, protocol: Protocol, seed: int) -> Scorer | RunFile:
    if not isinstance(scorer, str | Path):
        return scorer
    if is_run_file(Path(scorer)):
        return read_run(Path(scorer))
    return load(scorer, words=protocol.words, seed=seed)


def open_examples(
    dataset: str | Path | Iterable[Example],
    split: str | None,
    folder: Path | None,
    scorers: Iterable[str | Path | Scorer],
) -> tuple[str | None, str | None, Iterable[Example]]:
    """Return the name and the split of a data set, and its examples; examples have no name.

    Args:
        scorers: those that will rank the examples; qrels have no texts, so only runs can.
    """
    if not isinstance(dataset, str | Path):
        return None, None, dataset
    if is_qrels_file(Path(dataset)):
        for scorer in scorers:
            if not (isinstance(scorer, str | Path) and is_run_file(Path(scorer))):
                raise InputError(
                    f"{dataset}: a qrels file of TREC has no texts for {_name(scorer)} to read;"
                    " give run files instead, or a data set with texts"
                )
        if split is not None:
            raise InputError(f"{dataset} is a file and has no split {split!r}; leave out the split")
        return str(dataset), None, read_qrels(Path(dataset))
    name, split = resolve_split(dataset, split)
    return name, split, open_dataset(name, split=split, folder=folder)


def _name(scorer: str | Path | Scorer) -> str:
    return str(scorer) if isinstance(scorer, str | Path) else scorer.name


def _rank_all(
    scorer: Scorer | RunFile, examples: Iterable[Example], protocol: Protocol
) -> tuple[RankedQuestion, ...]:
    counted = (example for example in examples if protocol.counts(example))
    with storing_answers(scorer, counted) as (bound, ready):
        return tuple(_rank(bound, example, protocol) for example in ready)


def _rank(scorer: Scorer | RunFile, example: Example, protocol: Protocol) -> RankedQuestion:
    if isinstance(scorer, RunFile):
        return scorer.rank(example, protocol)
    scores = scorer.score(example.question, example.candidates)
    order = protocol.order(scores, example.labels)
    return RankedQuestion(
        example.id,
        example.question,
        tuple(example.candidates[place].id for place in order),
        tuple(example.labels[place] for place in order),
        tuple(float(scores[place]) for place in order),
    )
