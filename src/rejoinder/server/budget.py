"""The reply's header that says what a budget cut."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

CUT_HEADER = "X-Budget-Cut"
MAX_CUT = 20
"""Stages that the header names: clients and proxies limit its length."""


class CutStage(Struct, frozen=True):
    """The fields of a stage's trace that the header is made of."""

    scorer: str
    given: int
    scored: int
    kept: int
    timed_out: bool


class _Traced(Struct, frozen=True):
    trace: list[CutStage]


_decode = msgspec.json.Decoder(_Traced).decode


def describe_cut(stages: Iterable[CutStage]) -> dict[str, str]:
    """Return the header of a reply, or none where there was time for all.

    A stage of several questions or documents is named once for each that was cut.
    """
    cut = [
        # A header is ASCII, and a scorer may be named by any folder.
        f"{stage.scorer!a} scored {stage.scored} of {stage.given}, kept {stage.kept}"
        for stage in stages
        if stage.timed_out
    ]
    if len(cut) > MAX_CUT:
        cut[MAX_CUT:] = [f"{len(cut) - MAX_CUT} more"]
    return {CUT_HEADER: "; ".join(cut)} if cut else {}


def read_cut(replies: Iterable[bytes]) -> dict[str, str]:
    """Return the header for the replies of workers, each with a `trace`."""
    return describe_cut(stage for reply in replies for stage in _decode(reply).trace)
