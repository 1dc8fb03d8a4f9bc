"""The order in which candidates of several documents are read."""

from collections.abc import Iterable

from rejoinder.types import Candidate


def group_by_document(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates by document, as documents come first, and in document order."""
    groups: dict[str | None, list[Candidate]] = {}
    for candidate in candidates:
        name = candidate.document.id if candidate.document else None
        groups.setdefault(name, []).append(candidate)
    return [
        candidate
        for group in groups.values()
        for candidate in sorted(group, key=lambda item: item.position or 0)
    ]
