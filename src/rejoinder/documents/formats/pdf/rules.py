"""Ruled lines of a page, which frame tables."""

import ctypes
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium

THICKEST = 2.0
_MAX_OBJECTS = 3000


class Rule(NamedTuple):
    """A horizontal or vertical line that is drawn on a page."""

    left: float
    bottom: float
    right: float
    top: float


def read_rules(page: Any) -> list[Rule]:
    """Return the ruled lines of a pdfium page; drawings with very many parts are skipped."""
    count = pdfium.FPDFPage_CountObjects(page)
    rules: list[Rule] = []
    bounds = [ctypes.c_float() for _ in range(4)]
    for number in range(count if count <= _MAX_OBJECTS else 0):
        drawn = pdfium.FPDFPage_GetObject(page, number)
        if pdfium.FPDFPageObj_GetType(drawn) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        if not pdfium.FPDFPageObj_GetBounds(drawn, *bounds):
            continue
        rule = Rule(*(bound.value for bound in bounds))
        width, height = rule.right - rule.left, rule.top - rule.bottom
        if min(width, height) <= THICKEST < 8 < max(width, height):
            rules.append(rule)
    return rules
