from rejoinder.papers.context_rows import BASE


def test_the_base_row_reads_no_context() -> None:
    assert BASE.form == "none"
    assert BASE.has_seeds
