"""Orders candidates by score: the one place where ties are broken."""

from collections.abc import Sequence

from rejoinder.models.arguments import check_candidates, check_question, check_scorer
from rejoinder.models.deadline import Deadline
from rejoinder.models.scorer import Candidates, Scorer
from rejoinder.models.staged import StagedScorer, score_alone
from rejoinder.types import Candidate, Ranking, ScoredCandidate, to_candidates


def rank(
    question: str,
    candidates: Candidates,
    *,
    scorer: Scorer,
    budget_ms: float | None = None,
    deadline: Deadline | None = None,
) -> Ranking:
    """Order candidates from best to worst; equal scores keep their input order.

    Args:
        budget_ms: how long it may take.  What is known by then is the ranking, and its trace
            says what was cut; at least one batch of the first stage is always scored.
        deadline: the same as a moment, where the time began to count earlier.

    Raises:
        InputError: the question is empty, the candidates are no list, the scorer is a name
            only, or the budget is negative.
    """
    check_question(question)
    check_candidates(candidates)
    check_scorer(scorer)
    if budget_ms is not None:
        if deadline is not None:
            raise ValueError("give a budget or a deadline, not both")
        deadline = Deadline.after(budget_ms)
    return order(question, to_candidates(candidates), scorer=scorer, deadline=deadline)


def order(
    question: str,
    given: Sequence[Candidate],
    *,
    scorer: Scorer,
    deadline: Deadline | None = None,
) -> Ranking:
    """Do the same for callers that have looked at what they give; a question may be empty."""
    if not given:
        return Ranking(question, scorer.name, ())
    if isinstance(scorer, StagedScorer):
        staged = scorer.score_in_stages(question, given, deadline=deadline)
    else:
        staged = score_alone(scorer, question, given, deadline)
    items = tuple(
        ScoredCandidate(given[place], float(staged.scores[place]), rank_, int(staged.stages[place]))
        for rank_, place in enumerate(staged.order.tolist(), start=1)
    )
    return Ranking(question, scorer.name, items, staged.trace, staged.confidence, staged.abstains)
