"""The short form of every case: the same faults, a few times."""

from pathlib import Path

import pytest

from rejoinder.documents import formats
from tests.reliability import document_parsers
from tests.reliability.case import CannotRunError, Case
from tests.reliability.cases import CASES
from tests.reliability.parser import parse
from tests.reliability.parsers import PARSERS


@pytest.mark.parametrize("case", [case for case in CASES if case.short], ids=lambda case: case.name)
def test_nothing_is_lost(case: Case, tmp_path: Path) -> None:
    try:
        outcome = case.run(tmp_path, case.short)
    except CannotRunError as error:
        pytest.skip(str(error))

    assert outcome.attempts >= min(case.short, 20)
    assert outcome.losses == 0


def test_every_reader_of_documents_is_fuzzed() -> None:
    assert set(document_parsers.FORMATS.values()) == set(formats.FORMATS.values())


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("index: writer killed with -9", 300),
        ("index: full disk", 200),
        ("index: bit flipped or file truncated", 3_000),
        ("input: ", 1_500_000),
        ("server: mixed load", 30 * 60),
    ],
)
def test_the_long_form_is_long_enough(name: str, least: int) -> None:
    assert sum(case.long for case in CASES if case.name.startswith(name)) >= least


@pytest.mark.parametrize("name", PARSERS)
def test_valid_input_is_parsed(name: str) -> None:
    # A parser that rejects everything would pass all fuzzing.
    parser = PARSERS[name]
    has_forms = name.startswith(("HTTP", "MCP", "bundle of", "import of ONNX"))
    valid = parser.seeds if has_forms else parser.seeds[:1]
    assert all(parse(parser, seed) for seed in valid)
