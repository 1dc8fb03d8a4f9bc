import pytest

from rejoinder.cli.options import choose_rows
from rejoinder.errors import UnknownNameError
from rejoinder.papers.context_rows import Row

ROWS = [Row(name, "none") for name in ("has", "has-128", "cosinet/rnn", "cosinet/birnn")]


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ("", ["has", "has-128", "cosinet/rnn", "cosinet/birnn"]),
        ("has", ["has"]),
        ("has-", ["has-128"]),
        ("cosinet", ["cosinet/rnn", "cosinet/birnn"]),
        ("cosinet/birnn, has", ["has", "cosinet/birnn"]),
    ],
)
def test_a_name_means_its_row_and_a_beginning_all_that_begin_so(
    models: str, expected: list[str]
) -> None:
    assert [row.name for row in choose_rows(ROWS, models, of="a table")] == expected


def test_a_name_of_no_row_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown row of a table 'cosine/'"):
        choose_rows(ROWS, "has,cosine/", of="a table")
