"""Tables: rows and cells from ruled lines, or from text that is aligned in columns."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rejoinder.documents.formats.pdf.hyphens import Hyphens
from rejoinder.documents.formats.pdf.lines import Fragment, TextLine
from rejoinder.documents.formats.pdf.rules import THICKEST, Rule


@dataclass
class TableRows:
    """Rows of a table that stands on some lines of a page."""

    count: int
    """How many lines it takes."""
    rows: list[list[str]]
    headings: list[str]


def find_table(
    lines: Sequence[TextLine], rules: Sequence[Rule], hyphens: Hyphens
) -> TableRows | None:
    """Return the table that begins with the first of the lines, if one does."""
    return _find_ruled(lines, rules, hyphens) or _find_aligned(lines, hyphens)


def _find_ruled(
    lines: Sequence[TextLine], rules: Sequence[Rule], hyphens: Hyphens
) -> TableRows | None:
    """Read a table with vertical rules between its columns."""
    first = lines[0]
    upright = [rule for rule in rules if rule.top - rule.bottom > THICKEST]
    middle = first.baseline + 0.3 * first.size
    touching = [rule for rule in upright if rule.bottom < middle < rule.top]
    if len(touching) < 2 or not min(touching).left < first.left < max(touching).left:
        return None
    left, right = min(touching).left, max(touching).left
    bottom = min(rule.bottom for rule in touching)
    for rule in sorted(upright, key=lambda rule: -rule.top):
        if rule.top >= bottom - 3 and left - 3 < rule.left < right + 3:
            bottom = min(bottom, rule.bottom)
    top = max(rule.top for rule in touching)
    inside = [rule for rule in upright if rule.top < top + 3 and rule.bottom > bottom - 3]
    edges = _cluster(rule.left for rule in inside if left - 3 < rule.left < right + 3)
    flat = [rule for rule in rules if rule.right - rule.left > THICKEST]
    levels = _cluster(
        rule.top
        for rule in flat
        if rule.left < right and rule.right > left and rule.top > bottom - 3
    )
    taken = [line for line in lines if line.baseline > bottom]
    count = next((n for n, line in enumerate(lines) if line.baseline < bottom), len(lines))
    if len(edges) < 3 or not count or len(taken) != count:
        return None
    bands: dict[int, list[TextLine]] = {}
    for line in taken:
        bands.setdefault(bisect_left(levels, line.baseline), []).append(line)
    rows = [row for band in bands.values() for row in _split_band(band, edges[1], len(bands))]
    cells = [_fill(row, edges[1:-1], hyphens) for row in rows]
    return _make_table(count, cells, all(fragment.bold for fragment in rows[0]))


def _split_band(band: Sequence[TextLine], edge: float, bands: int) -> list[list[Fragment]]:
    """Return the rows between two horizontal rules: one, unless rules only frame the table."""
    headed = [line.left < edge for line in band]
    if bands > 3 or len(band) < 3 or sum(headed) < 0.6 * len(band):
        return [[fragment for line in band for fragment in line.fragments]]
    rows: list[list[Fragment]] = []
    for line, starts in zip(band, headed, strict=True):
        if starts or not rows:
            rows.append([])
        rows[-1].extend(line.fragments)
    return rows


def _find_aligned(lines: Sequence[TextLine], hyphens: Hyphens) -> TableRows | None:
    """Read a table without rules: at least three lines whose cells stand below each other."""
    taken: list[TextLine] = []
    for line in lines:
        if taken and (line.mono or not 0 < taken[-1].baseline - line.baseline < 2.2 * line.size):
            break
        if len(line.fragments) < 2 and (not taken or line.left < taken[0].fragments[1].left - 3):
            break
        taken.append(line)
    starts = [line for line in taken if len(line.fragments) > 1]
    if len(starts) < 3:
        return None
    edges = _find_edges(taken)
    if not edges or max(len(fragment.text) for line in starts for fragment in line.fragments) > 80:
        return None
    rows: list[list[Fragment]] = []
    for line in taken:
        if not rows or line.left < edges[0]:
            rows.append([])
        rows[-1].extend(line.fragments)
    cells = [_fill(row, edges, hyphens) for row in rows]
    if len(cells) < 3 or sum(sum(map(bool, row)) > 1 for row in cells) < 0.7 * len(cells):
        return None
    bold = all(fragment.bold for fragment in rows[0]) and not starts[-1].bold
    return _make_table(len(taken), cells, bold)


def _find_edges(lines: Sequence[TextLine]) -> list[float]:
    """Return where white space runs down between the fragments of all lines."""
    spans = sorted((fragment.left, fragment.right) for line in lines for fragment in line.fragments)
    edges = []
    end = spans[0][1]
    for left, right in spans:
        if left - end > 0.5 * lines[0].size:
            edges.append((left + end) / 2)
        end = max(end, right)
    return edges


def _cluster(values: Iterable[float]) -> list[float]:
    """Return sorted values without those that nearly repeat the one before."""
    kept: list[float] = []
    for value in sorted(values):
        if not kept or value - kept[-1] > 3:
            kept.append(value)
    return kept


def _fill(fragments: Sequence[Fragment], edges: Sequence[float], hyphens: Hyphens) -> list[str]:
    cells: list[list[Fragment]] = [[] for _ in range(len(edges) + 1)]
    for fragment in fragments:
        # A long text may touch the next cell, which begins with another span.
        for left, spans in groupby(fragment.spans, lambda span: bisect_left(edges, span.left + 1)):
            cells[left].append(replace(fragment, spans=list(spans)))
    return [hyphens.join(fragment.text for fragment in cell) for cell in cells]


def _make_table(count: int, rows: list[list[str]], headed: bool) -> TableRows:
    if headed and len(rows) > 1:
        return TableRows(count, rows[1:], rows[0])
    return TableRows(count, rows, [])
