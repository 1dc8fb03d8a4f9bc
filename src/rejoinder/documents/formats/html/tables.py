"""Tables: rows that carry their column headings, and layout tables as the blocks they hold."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rejoinder.documents.blocks import fold
from rejoinder.documents.formats.html.drafts import Draft, define, join
from rejoinder.documents.formats.html.navigation import is_menu
from rejoinder.documents.notation import format_row

MAX_COLUMNS = 100
MAX_SPANNED = 200
"""Characters of a cell that is repeated in each row it spans."""
MAX_ROW = 1500
"""Characters; longer rows are layout."""
MAX_HEAD_WORDS = 4
"""Words of a cell that may head a row of two by its length."""


@dataclass(slots=True)
class HtmlCell:
    """A cell, with the blocks inside."""

    drafts: list[Draft]
    head: bool = False
    columns: int = 1
    rows: int = 1
    text: str = ""

    def __post_init__(self) -> None:
        text = " ".join(filter(None, (fold(draft.text) for draft in self.drafts)))
        self.text = text.lstrip("•· ") or text

    @property
    def emphatic(self) -> bool:
        """Whether it may be a heading by its looks."""
        return self.head or all(draft.emphatic for draft in self.drafts)

    def holds(self, *kinds: str) -> bool:
        """Say whether a block inside is of one of these kinds."""
        return any(draft.kind in kinds for draft in self.drafts)


@dataclass(slots=True)
class HtmlTable:
    """A table that is being read."""

    layout: bool = False
    rows: list[tuple[list[HtmlCell], bool]] = field(default_factory=list)
    """Each row, and whether it is in `<thead>`."""

    def to_drafts(self) -> Iterator[Draft]:
        """Yield a block per row; what only a browser needs a table for, as the blocks it is."""
        grid = [(row, in_head) for row, in_head in _expand(self.rows) if row]
        if self.layout or len({column for row, _ in grid for column in row}) <= 1:
            for cells, _ in self.rows:
                yield from _flatten(cells)
            return
        names: dict[int, str] = {}
        heading = True  # the rows before this one are column headings
        for index, (row, in_head) in enumerate(grid):
            cells = _distinct(row)
            if _is_heading(cells, in_head, first=index == 0 and len(grid) > 1):
                names = _extend(names if heading else {}, row)
                heading = True
                continue
            heading = False
            yield from _read_row(row, cells, names)


def _read_row(
    row: dict[int, HtmlCell], cells: list[HtmlCell], names: dict[int, str]
) -> Iterator[Draft]:
    if len(cells) == 1 and (cells[0].columns > 1 or cells[0].head or not names):
        yield from _flatten(cells)
    elif names and not _needs_blocks(cells, MAX_ROW, "heading", "row"):
        yield _format(cells, _name(row, names))
    elif not names and not _needs_blocks(cells, MAX_ROW // 2, "heading", "row", "code"):
        yield _format(cells, [])
    elif cells[0].head and len(cells) == 2 and len(cells[0].drafts) == 1:
        yield from define(cells[0].drafts[0], cells[1].drafts)
    else:
        yield from _flatten(cells)


def _expand(
    rows: Iterable[tuple[list[HtmlCell], bool]],
) -> Iterator[tuple[dict[int, HtmlCell], bool]]:
    """Place cells in columns, and repeat short cells in the rows that they span."""
    above: dict[int, tuple[HtmlCell, int]] = {}  # by column, with the rows that remain
    for cells, in_head in rows:
        row = {column: cell for column, (cell, _) in above.items()}
        column = 0
        for cell in cells:
            while column in row:
                column += 1
            end = max(column + 1, min(column + cell.columns, MAX_COLUMNS))
            for spanned in range(column, end):
                row[spanned] = cell
                if cell.rows > 1 and spanned < MAX_COLUMNS:
                    above[spanned] = (cell, cell.rows)
            column = end
        above = {column: (cell, left - 1) for column, (cell, left) in above.items() if left > 1}
        shown = {
            column: cell
            for column, cell in sorted(row.items())
            if cell.text and (len(cell.text) <= MAX_SPANNED or any(cell is own for own in cells))
        }
        yield shown, in_head


def _distinct(row: dict[int, HtmlCell]) -> list[HtmlCell]:
    cells: list[HtmlCell] = []
    for cell in row.values():
        if not cells or cell is not cells[-1]:
            cells.append(cell)
    return cells


def _is_heading(cells: list[HtmlCell], in_head: bool, *, first: bool) -> bool:
    if len(cells) < 2 or any(cell.holds("heading", "code", "row", "item") for cell in cells):
        return in_head and len(cells) == 1 and not cells[0].holds("heading")
    return in_head or all(cell.head for cell in cells) or (first and all(c.emphatic for c in cells))


def _extend(names: dict[int, str], row: dict[int, HtmlCell]) -> dict[int, str]:
    """Add a row of column headings to those above it."""
    texts = {column: cell.text.rstrip(" :") for column, cell in row.items()}
    return {
        column: fold(f"{names.get(column, '')} {texts.get(column, '')}")
        if names.get(column) != texts.get(column)
        else names[column]
        for column in {*names, *texts}
    }


def _needs_blocks(cells: list[HtmlCell], limit: int, *kinds: str) -> bool:
    return (
        sum(len(cell.text) for cell in cells) > limit
        or any(cell.holds(*kinds) for cell in cells)
        or any(len(cell.drafts) > 2 and limit < MAX_ROW for cell in cells)
    )


def _name(row: dict[int, HtmlCell], names: dict[int, str]) -> list[str]:
    """Return the column heading of each cell; of one that spans all columns, none."""
    headings: list[str] = []
    last: HtmlCell | None = None
    for column, cell in row.items():
        if cell is not last:
            name = names.get(column, "") if cell.columns < max(2, len(names)) else ""
            headings.append("" if name == cell.text else name)
        last = cell
    return headings


def _format(cells: list[HtmlCell], headings: list[str]) -> Draft:
    texts = [cell.text for cell in cells]
    texts[:-1] = [text.removesuffix(".").rstrip(";") for text in texts[:-1]]
    if not headings and _has_head(cells):
        headings, texts = texts[:1], texts[1:]
    row = join("row", [draft for cell in cells for draft in cell.drafts])
    row.text = format_row(headings, texts)
    return row


def _has_head(cells: list[HtmlCell]) -> bool:
    """Say whether the first cell is what the row is about, in a table without headings."""
    first, second = cells[0], cells[1]
    is_pair = len(cells) == 2 and len(first.text) < len(second.text)
    return (
        first.head
        or (first.emphatic and not second.emphatic)
        or (is_pair and len(first.text.split()) <= MAX_HEAD_WORDS)
    )


def _flatten(cells: list[HtmlCell]) -> Iterator[Draft]:
    for cell in cells:
        if is_menu(cell.drafts):
            yield Draft("dropped")
        elif cell.head and [draft.kind for draft in cell.drafts] == ["paragraph"]:
            yield join("caption", cell.drafts)
        else:
            yield from cell.drafts
