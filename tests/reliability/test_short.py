"""The short form of every case: the same faults, a few times."""

from pathlib import Path

import pytest

from tests.reliability.case import CannotRunError, Case, Found
from tests.reliability.cases import CASES
from tests.reliability.kept import keep_line, read_line
from tests.reliability.parsers import PARSERS, parse
from tests.reliability.report import Line


@pytest.mark.parametrize("case", [case for case in CASES if case.short], ids=lambda case: case.name)
def test_nothing_is_lost(case: Case, tmp_path: Path) -> None:
    try:
        found = case.run(tmp_path, case.short)
    except CannotRunError as error:
        pytest.skip(str(error))

    assert found.tried >= min(case.short, 20)
    assert found.lost == 0


@pytest.mark.parametrize("name", PARSERS)
def test_a_good_input_is_read(name: str) -> None:
    # Else everything would be refused, and feeding it would show nothing.
    parser = PARSERS[name]
    good = parser.seeds if name.startswith("HTTP") else parser.seeds[:1]
    assert all(parse(parser, seed) for seed in good)


def test_only_a_finding_without_loss_is_kept(tmp_path: Path) -> None:
    kept, case = tmp_path / "runs.jsonl", CASES[0]
    found = Found(7, 0, "all there")

    keep_line(kept, Line(case, Found(7, 1)), 7)
    keep_line(kept, Line(case, None, "no disk can be mounted"), 7)
    assert read_line(kept, case, 7) is None

    keep_line(kept, Line(case, found), 7)
    assert read_line(kept, case, 7) == Line(case, found)
    assert read_line(kept, case, 8) is None
