"""Orders candidates by score: the one place where ties are broken.

Arguments are checked here for callers in Python; the command line and the server check theirs
before they call.
"""

from collections.abc import Collection, Mapping, Sequence

from rejoinder.errors import InputError
from rejoinder.models.scorer import Candidates, Scorer
from rejoinder.models.staged import Deadline, StagedScorer, score_alone
from rejoinder.types import Candidate, Ranking, ScoredCandidate, to_candidates


def rank(
    question: str,
    candidates: Candidates,
    *,
    scorer: Scorer,
    budget_ms: float | None = None,
    deadline: Deadline | None = None,
    min_confidence: float | None = None,
) -> Ranking:
    """Order candidates from best to worst; equal scores keep their input order.

    Args:
        budget_ms: the time limit.  The ranking holds the scores known by then, and its trace
            says which stages timed out; at least one batch of the first stage is always scored.
        deadline: the same as a moment, where the time began to count earlier.
        min_confidence: abstain below this confidence, instead of where the scorer finds
            no answer likely.

    Raises:
        InputError: the question is empty, the candidates are no list, the scorer is only a
            name or has no confidence to compare, or the budget is negative.
    """
    check_question(question)
    check_candidates(candidates)
    check_scorer(scorer)
    check_min_confidence(min_confidence, scorer)
    if budget_ms is not None:
        if deadline is not None:
            raise ValueError("give a budget or a deadline, not both")
        deadline = Deadline.after(budget_ms)
    return order(
        question,
        to_candidates(candidates),
        scorer=scorer,
        deadline=deadline,
        min_confidence=min_confidence,
    )


def order(
    question: str,
    candidates: Sequence[Candidate],
    *,
    scorer: Scorer,
    deadline: Deadline | None = None,
    min_confidence: float | None = None,
    only_first: bool = False,
) -> Ranking:
    """Rank candidates that are checked already; the question may be empty.

    Args:
        only_first: the caller needs the first candidate; the order of the others may be rough.
    """
    if not candidates:
        return Ranking(question, scorer.name, ())
    if isinstance(scorer, StagedScorer):
        staged = scorer.score_in_stages(
            question, candidates, deadline=deadline, only_first=only_first
        )
    else:
        staged = score_alone(scorer, question, candidates, deadline)
    scores, stages = staged.scores.tolist(), staged.stages.tolist()
    items = tuple(
        ScoredCandidate(candidates[place], scores[place], rank_, stages[place])
        for rank_, place in enumerate(staged.order.tolist(), start=1)
    )
    confidence, abstains = staged.confidence, staged.abstains
    if min_confidence is not None:
        abstains = confidence is not None and confidence < min_confidence
    return Ranking(question, scorer.name, items, staged.trace, confidence, abstains)


def check_question(question: object) -> None:
    """Refuse a question that is empty or not a string."""
    if not isinstance(question, str):
        raise InputError(f"the question must be text, found {question!r:.60}")
    if not question.strip():
        raise InputError("the question is empty")


def check_top(top: object) -> None:
    """Refuse a number of results below 1."""
    if not isinstance(top, int) or top < 1:
        raise InputError(f"top must be 1 or more, found {top!r:.60}")


def check_candidates(candidates: object) -> None:
    """Refuse one string, whose letters would be ranked."""
    if isinstance(candidates, str):
        raise InputError("the candidates are one text; give a list of texts")


def check_scorer(scorer: object) -> None:
    """Refuse the name of a scorer that is not loaded."""
    if not hasattr(scorer, "score"):
        name = f"{scorer!r:.60}"
        raise InputError(f"{name} is not a scorer; load it first: scorer=rejoinder.load({name})")


def check_min_confidence(min_confidence: float | None, scorer: Scorer | None) -> None:
    """Raise InputError if it is not a probability, or if the scorer gives no confidence."""
    if min_confidence is None:
        return
    if not 0 <= min_confidence <= 1:
        raise InputError(f"min_confidence must be from 0 to 1, found {min_confidence}")
    if getattr(scorer, "calibration", None) is None:
        name = scorer.name if scorer else "retrieval order"
        raise InputError(
            f"min_confidence needs a confidence, and {name} has none; use a cascade that"
            " 'rejoinder calibrate' has calibrated"
        )


def check_where(where: object) -> None:
    """Refuse a filter that is not a mapping of metadata to strings."""
    if where is None:
        return
    if not isinstance(where, Mapping) or not all(map(_is_filter, where.values())):
        example = "{'suffix': '.md'} or {'team': ['red', 'blue']}"
        raise InputError(f"where must be such as {example}, found {where!r:.60}")


def _is_filter(value: object) -> bool:
    # One string is a collection of strings too: its letters.
    return isinstance(value, Collection) and all(isinstance(one, str) for one in value)
