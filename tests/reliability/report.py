"""The report of the suite as a page of the docs."""

from collections.abc import Iterable
from typing import NamedTuple

from tests.reliability.case import Case, Found

AREAS = {
    "index": "The index",
    "input": "Input",
    "batch": "Batch jobs",
    "server": "The server",
}

HEAD = """# Reliability

What was done to rejoinder, how often, and what was lost. Made by `make reliability`{form};
`make test` runs the short form of the same cases. A case that loses anything fails the command.
"""


class Line(NamedTuple):
    """A case, and what came of it: findings, or why it could not be run."""

    case: Case
    found: Found | None
    problem: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether something was lost, or the case did not come to its end."""
        return self.problem.startswith("FAILED") or bool(self.found and self.found.lost)


def write_page(lines: Iterable[Line], *, is_long: bool) -> str:
    """Return the page."""
    form = "" if is_long else " in its short form (`LONG=`)"
    parts = [HEAD.format(form=form)]
    known = list(lines)
    for area, title in AREAS.items():
        mine = [line for line in known if line.case.area == area]
        if not mine:
            continue
        parts.append(f"\n## {title}\n\n| fault | tried | lost | |\n|---|---|---|---|\n")
        parts += [_show(line) for line in mine]
        meanings = dict.fromkeys(line.case.lost for line in mine)
        parts.append("\nCounted as lost: " + "; ".join(meanings) + ".\n")
    return "".join(parts)


def _show(line: Line) -> str:
    if line.found is None:
        return f"| {line.case.fault} | – | – | not run: {line.problem} |\n"
    found = line.found
    return f"| {line.case.fault} | {found.tried:,} | {found.lost} | {found.note} |\n"
