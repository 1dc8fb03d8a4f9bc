"""All cases; add the list of a new area here."""

from tests.reliability import batch_cases, engine_cases, index_cases, input_cases, server_cases
from tests.reliability.case import Case

CASES: list[Case] = [
    *index_cases.CASES,
    *server_cases.CASES,
    *input_cases.CASES,
    *batch_cases.CASES,
    *engine_cases.CASES,
]
