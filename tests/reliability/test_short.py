"""The short form of every case: the same faults, a few times."""

from pathlib import Path

import pytest

from tests.reliability.case import CannotRunError, Case
from tests.reliability.cases import CASES
from tests.reliability.parsers import PARSERS, parse


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.short], ids=lambda case: f"{case.area}: {case.fault}"
)
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
