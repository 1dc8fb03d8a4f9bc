import pytest

from rejoinder.errors import UnknownNameError
from rejoinder.train.context_rows import BASE, ROWS, choose_rows


def test_rows_are_chosen_by_name() -> None:
    assert choose_rows([]) == list(ROWS)
    assert [row.name for row in choose_rows(["multi-way", "none"])] == ["none", "multi-way"]
    with pytest.raises(UnknownNameError, match="unknown row of context 'multiway'"):
        choose_rows(["multiway"])


def test_the_base_row_reads_no_context() -> None:
    assert BASE.form == "none"
    assert BASE.has_seeds
