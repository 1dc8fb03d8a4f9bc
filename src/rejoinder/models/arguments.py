"""What a caller in Python may have got wrong, said before anything is computed.

The command line and the server check what they are given themselves; types bind nobody who
does not check them.
"""

from collections.abc import Collection, Mapping

from rejoinder.errors import InputError


def check_question(question: object) -> None:
    """Refuse a question that is empty or no text."""
    if not isinstance(question, str):
        raise InputError(f"the question must be text, found {question!r:.60}")
    if not question.strip():
        raise InputError("the question is empty")


def check_top(top: object) -> None:
    """Refuse to return fewer than one."""
    if not isinstance(top, int) or top < 1:
        raise InputError(f"top must be 1 or more, found {top!r:.60}")


def check_candidates(candidates: object) -> None:
    """Refuse one text, whose letters would be ranked."""
    if isinstance(candidates, str):
        raise InputError("the candidates are one text; give a list of texts")


def check_scorer(scorer: object) -> None:
    """Refuse what is not loaded."""
    if not hasattr(scorer, "score"):
        name = f"{scorer!r:.60}"
        raise InputError(f"{name} is no scorer; load it first: scorer=rejoinder.load({name})")


def check_where(where: object) -> None:
    """Refuse what says nothing about metadata."""
    if where is None:
        return
    if not isinstance(where, Mapping) or not all(map(_is_wanted, where.values())):
        example = "{'suffix': '.md'} or {'team': ['red', 'blue']}"
        raise InputError(f"where must be such as {example}, found {where!r:.60}")


def _is_wanted(value: object) -> bool:
    if isinstance(value, Collection):
        return all(isinstance(one, str) for one in value)  # of one text, its letters
    return False
