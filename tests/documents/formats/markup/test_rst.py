import io

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.markup.rst import MAX_DEPTH, read


def read_document(text: str) -> tuple[ExtractedDocument, list[Block]]:
    (document,) = read(io.BytesIO(text.encode()))
    return document, list(document.blocks)


def read_pairs(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read_document(text)[1]]


def test_headings_have_levels_by_order_of_appearance() -> None:
    text = "======\n Teas\n======\n\nGreen\n=====\n\nFresh\n-----\n\nIt is.\n\nBlack\n=====\n"
    document, blocks = read_document(text)

    assert document.title == "Teas"
    assert blocks == [
        Block("heading", "Teas", (), 2, anchor="teas"),
        Block("heading", "Green", ("Teas",), 5, anchor="green"),
        Block("heading", "Fresh", ("Teas", "Green"), 8, anchor="fresh"),
        Block("paragraph", "It is.", ("Teas", "Green", "Fresh"), 11, anchor="fresh"),
        Block("heading", "Black", ("Teas",), 13, anchor="black"),
    ]


def test_a_transition_is_no_heading() -> None:
    assert read_pairs("Hot.\n\n----\n\nCold.\n") == [("paragraph", "Hot."), ("paragraph", "Cold.")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Hot** *water* and ``tea *x*``", "Hot water and tea *x*"),
        (":ref:`the pot <pot>`, :doc:`/teas`, `shop <http://x.test>`_", "the pot, /teas, shop"),
        (":meth:`~tea.Pot.boil` :py:func:`!pour` :file:`{home}/tea`", "boil pour home/tea"),
        (":genex:`$<TARGET:x>` :cmd:`find(\\<x\\>) <find>`", "$<TARGET:x> find(<x>)"),
        ("2\\ :sup:`31`, H\\ :sub:`2`\\ O, :pep:`8`", "2³¹, H₂O, PEP 8"),
        ("See Tea_ and `green tea`_ or tea_pot [1]_.", "See Tea and green tea or tea_pot."),
        ("C:\\\\tea \\*args, TEA_<X>_Y or 2 * 3 * 4", "C:\\tea *args, TEA_<X>_Y or 2 * 3 * 4"),
        ("|tea| is |unknown| hot.\n\n.. |tea| replace:: *Green* tea", "Green tea is hot."),
        ("| One\n| two", "One two"),
    ],
)  # fmt: skip
def test_inline_marks_are_removed(text: str, expected: str) -> None:
    assert read_pairs(text) == [("paragraph", expected)]


def test_literal_blocks_and_code_directives() -> None:
    text = (
        "Run::\n\n    boil\n      --hot\n\nor ::\n\n> pour\n> wait\n\n::\n\n  stir\n\n"
        ".. code-block:: sh\n   :linenos:\n\n   steep\n\n>>> drink()\n'hot'\n"
    )

    assert read_pairs(text) == [
        ("paragraph", "Run:"),
        ("code", "boil\n  --hot"),
        ("paragraph", "or"),
        ("code", "> pour\n> wait"),
        ("code", "stir"),
        ("code", "steep"),
        ("code", ">>> drink()\n'hot'"),
    ]


def test_a_literal_block_may_follow_at_once_or_be_missing() -> None:
    assert read_pairs("Run::\n    boil\n\nThen::\n\nnext\n") == [
        ("paragraph", "Run:"),
        ("code", "boil"),
        ("paragraph", "Then:"),
        ("paragraph", "next"),
    ]


def test_options_of_a_directive_go_on_over_lines() -> None:
    text = ".. csv-table::\n   :header: Tea,\n      Price\n\n   Sencha, 3\n"

    assert read_pairs(text) == [("row", "Tea: Sencha; Price: 3")]


def test_a_directive_without_argument_may_begin_its_body_at_once() -> None:
    assert read_pairs(".. container::\n   Tea is\n   hot.\n") == [("paragraph", "Tea is hot.")]


def test_a_blank_line_in_a_simple_table_separates_rows() -> None:
    text = "=== ===\na   b\n--- ---\n\n    c\n=== ===\n"

    assert read_pairs(text) == [("row", "a; b"), ("row", "c")]


def test_lists() -> None:
    text = "* one\n  more\n\n  next\n\n  - inner\n\n#. two\n(b) three\n\nA. Earl drank\ntea.\n"

    assert read_pairs(text) == [
        ("item", "one more"),
        ("paragraph", "next"),
        ("item", "inner"),
        ("item", "two"),
        ("item", "three"),
        ("paragraph", "A. Earl drank tea."),
    ]


def test_definitions_fields_and_options() -> None:
    text = (
        "Teas\n====\n\nOolong : rare\n  Half black.\n\n  Dear.\n\n:Author: Earl\n"
        ":param str leaf: The leaf.\n:returns: The tea.\n:empty:\n\n-q, --quiet  Be quiet.\n"
    )
    _, blocks = read_document(text)

    assert [(block.kind, block.text, block.path) for block in blocks[1:]] == [
        ("definition", "Oolong, rare: Half black.", ("Teas",)),
        ("paragraph", "Dear.", ("Teas", "Oolong, rare")),
        ("definition", "Author: Earl", ("Teas",)),
        ("definition", "leaf: The leaf.", ("Teas",)),
        ("definition", "Returns: The tea.", ("Teas",)),
        ("definition", "-q, --quiet: Be quiet.", ("Teas",)),
    ]


def test_directives_of_objects_are_terms() -> None:
    text = (
        ".. option:: -f\n            --force\n   :noindex:\n\n   .. versionadded:: 3.2\n\n"
        "   Pour now.\n\n"
        "   .. versionchanged:: 4 Hotter.\n\n.. py:function:: boil(pot)\n\n.. deprecated:: 5\n"
    )
    _, blocks = read_document(text)

    assert [(block.kind, block.text, block.path, block.line) for block in blocks] == [
        ("definition", "-f, --force (new in version 3.2): Pour now.", (), 3),
        ("definition", "Changed in version 4: Hotter.", ("-f, --force",), 9),
        ("paragraph", "Deprecated since version 5.", (), 13),
    ]


def test_admonitions_are_text_and_the_rest_is_left_out() -> None:
    text = (
        ".. note:: Very\n   hot.\n\n   Wait.\n\n.. admonition:: Milk\n\n   Add it.\n\n"
        ".. only:: html\n\n   Shown.\n\n.. toctree::\n\n   teas\n\n.. image:: pot.png\n"
        "   :alt: a pot\n\n.. _target:\n.. A comment\n   of two lines.\n\n..\n   Another.\n\n"
        ".. figure:: pot.png\n\n   The pot.\n\n.. rubric:: Notes\n\n.. [1] A note.\n\n__ http://x.test\n"
        ".. autofunction:: boil\n\n   Out.\n\nEnd.\n"
    )

    assert read_pairs(text) == [
        ("paragraph", "Very hot."),
        ("paragraph", "Wait."),
        ("definition", "Milk: Add it."),
        ("paragraph", "Shown."),
        ("caption", "The pot."),
        ("heading", "Notes"),
        ("paragraph", "A note."),
        ("paragraph", "End."),
    ]


SIMPLE = """\
====== =====
Tea    Price
====== =====
Sencha 3
       to 4
*Assam*
====== =====
"""
GRID = """\
+--------+-------+
| Tea    | Price |
+========+=======+
| Sencha | 3     |
|        | to 4  |
+--------+-------+
| Assam  |       |
+--------+-------+
"""
LIST = """\
.. list-table::
   :header-rows: 1

   * - Tea
     - Price
   * - Sencha
     - 3
       to 4
   * - Assam
     -
"""
CSV = """\
.. csv-table::
   :header: "Tea", Price

   "Sencha", 3 to 4
   Assam,
"""


@pytest.mark.parametrize(
    ("text", "lines"), [(SIMPLE, [4, 6]), (GRID, [4, 7]), (LIST, [6, 9]), (CSV, [4, 5])]
)
def test_tables_become_rows_with_column_headings(text: str, lines: list[int]) -> None:
    _, blocks = read_document(text + "\nEnd.\n")

    assert [(block.kind, block.text) for block in blocks] == [
        ("row", "Tea: Sencha; Price: 3 to 4"),
        ("row", "Tea: Assam"),
        ("paragraph", "End."),
    ]
    assert [block.line for block in blocks[:2]] == lines


def test_a_table_directive_has_a_caption() -> None:
    text = ".. table:: All teas\n\n   === ===\n   a   b\n   === ===\n"

    assert read_pairs(text) == [("caption", "All teas"), ("row", "a; b")]


def test_a_cell_that_spans_columns_is_kept() -> None:
    text = "+---+---+\n| a | b |\n+---+---+\n| wide  |\n+---+---+\n"

    assert read_pairs(text) == [("row", "a; b"), ("row", "wide")]


def test_deep_nesting_becomes_a_paragraph() -> None:
    pairs = read_pairs("- " * 5_000 + "a")
    assert [kind for kind, _ in pairs] == ["paragraph"]
    assert len(read_pairs("".join(" " * depth + "a\n" for depth in range(MAX_DEPTH * 9)))) < 40
