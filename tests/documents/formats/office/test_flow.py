"""The flow of office documents, also of those that no program writes."""

import pytest

from rejoinder.documents.blocks import Block
from rejoinder.documents.formats.office import flow
from rejoinder.documents.formats.office.flow import Flow


def add_row(target: Flow, *texts: str, header: bool = False) -> None:
    for text in texts:
        target.begin_cell()
        target.add("paragraph", text)
    if header:
        target.mark_header()
    target.end_row()


def take_texts(target: Flow) -> list[str]:
    target.end()
    return [block.text for block in target.take()]


def test_items_in_a_cell_are_separated() -> None:
    target = Flow()
    target.begin_table()
    target.begin_cell()
    target.add("paragraph", "Take:")
    for text in ("water", "leaves", ""):
        target.add("item", text)
    target.begin_cell()
    target.add("paragraph", "1")
    target.add("paragraph", "cup")
    target.end_row()

    assert take_texts(target) == ["Take: water, leaves; 1 cup"]


def test_parts_of_tables_outside_of_tables_are_ignored() -> None:
    target = Flow()
    target.cell.span = 7
    target.mark_header()
    target.begin_cell()
    target.end_row()
    target.end_table()
    target.add("paragraph", "Tea.")

    assert take_texts(target) == ["Tea."]


def test_text_of_a_table_outside_of_cells_is_ignored() -> None:
    target = Flow()
    target.begin_table()
    target.add("paragraph", "no")
    target.begin_table()
    add_row(target, "leaf", "3 g")
    target.end_table()
    target.end_row()
    add_row(target, "bud", "1 g")

    assert take_texts(target) == ["bud; 1 g"]


def test_a_table_that_does_not_end_is_read() -> None:
    target = Flow()
    target.begin_table()
    add_row(target, "Tea", "Leaves", header=True)
    add_row(target, "Sencha", "3 g")
    add_row(target, "", "")
    target.begin_cell()

    assert take_texts(target) == ["Tea: Sencha; Leaves: 3 g"]


def test_a_row_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "MAX_COLUMNS", 3)
    target = Flow()
    target.begin_table()
    add_row(target, "1", "2", "3", "4")
    target.begin_cell().span = 10**9
    target.add("paragraph", "5")
    target.begin_cell()
    target.add("paragraph", "6")
    target.end_row()

    assert take_texts(target) == ["1; 2; 3 4", "5"]


def test_a_long_cell_is_not_repeated_in_all_rows_it_spans() -> None:
    target = Flow()
    target.begin_table()
    for text in ("long " * 100, ""):
        target.begin_cell().continues = not text
        target.add("paragraph", text)
        target.begin_cell()
        target.add("paragraph", "1")
        target.end_row()

    assert take_texts(target) == [f"{'long ' * 99}long; 1", "1"]


def test_a_row_of_one_cell_is_outside_of_the_columns() -> None:
    target = Flow()
    target.begin_table()
    for row in (("Tea", "Leaves"), ("Green",), ("Sencha", "3 g")):
        add_row(target, *row)
    target.end_table()

    target.begin_page(2)
    target.add("heading", "Milk", 1)
    target.begin_page(3)
    target.add("code", "stir()")
    target.end()
    assert target.take() == [
        Block("paragraph", "Green"),
        Block("row", "Tea: Sencha; Leaves: 3 g"),
        Block("heading", "Milk", page=2),
        Block("code", "stir()", page=3),
    ]
