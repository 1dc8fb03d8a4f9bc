"""Quality of rankings, question by question, computed by ir-measures.

ir-measures (trec_eval underneath) breaks ties by candidate id, so it never sees one:
a ranking is handed over as strictly falling numbers, with its ties broken already.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.errors import InputError, MissingExtraError, UnknownNameError

DEFAULT_MEASURES = ("P@1", "MAP", "MRR")
KNOWN_MEASURES = ("P@k", "MAP", "MRR", "nDCG@k", "recall@k")
MAX_PLACE = 1_000_000
"""The largest k; no list is as long, and trec_eval takes no number of any size."""

Values = dict[str, list[float]]
"""Of each measure, one value per question."""


def measure(rankings: Sequence[Sequence[bool]], measures: Sequence[str]) -> Values:
    """Return the value of each measure for each ranking.

    Args:
        rankings: for each question, whether each candidate is an answer, best first.
            All candidates must be there: answer selection ranks a closed list.
        measures: such as P@1, MAP, MRR, nDCG@10, recall@5.  MAP and MRR name the means
            over questions; what is returned here is what they are the means of.

    Raises:
        MissingExtraError: ir-measures is not installed.
        InputError: no measure is named, or one with too large a k.
        UnknownNameError: no measure has this name.
    """
    parsed = parse_measures(measures)
    judgements = {str(q): _judge(labels) for q, labels in enumerate(rankings)}
    run = {str(q): _order(labels) for q, labels in enumerate(rankings)}
    values: Values = {name: [0.0] * len(rankings) for name in measures}
    for result in _ir_measures().iter_calc(list(parsed.values()), judgements, run):
        for name, parsed_measure in parsed.items():
            if parsed_measure == result.measure:
                values[name][int(result.query_id)] = float(result.value)
    return values


def parse_measures(names: Sequence[str]) -> dict[str, Any]:
    """Return ir-measures' measures by our names; as `measure`, it refuses what it cannot."""
    if not names:
        raise InputError(f"no measure is named; known: {', '.join(KNOWN_MEASURES)}")
    return {name: _parse(name) for name in names}


def _judge(labels: Sequence[bool]) -> Mapping[str, int]:
    return {str(place): int(label) for place, label in enumerate(labels)}


def _order(labels: Sequence[bool]) -> Mapping[str, float]:
    return {str(place): float(len(labels) - place) for place in range(len(labels))}


def _parse(name: str) -> Any:
    names = _ir_measures()
    if name == "MAP":
        return names.AP
    if name == "MRR":
        return names.RR
    match = re.fullmatch(r"(P|nDCG|recall)@([1-9]\d*)", name)
    if match is None:
        raise UnknownNameError("measure", name, KNOWN_MEASURES)
    if len(match[2]) > len(str(MAX_PLACE)) or int(match[2]) > MAX_PLACE:
        raise InputError(f"{match[1]}@k takes a k of {MAX_PLACE:,} at most")
    family = {"P": names.P, "nDCG": names.nDCG, "recall": names.R}[match[1]]
    return family @ int(match[2])


def _ir_measures() -> Any:
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("evaluation", extra="evaluate") from error
    return ir_measures
