"""Typefaces, sizes and baselines of the glyphs of a page."""

import ctypes
import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import pypdfium2.raw as pdfium

CELL = 1.0
"""A wider gap, in font sizes, separates table cells or columns."""

_BOLD = ("bold", "black", "heavy", "demi", "-medi", "cmb", "cmssbx", "sfbx", "ecbx", "lmbx")
_MONO = ("mono", "courier", "cmtt", "cmsltt", "cmvtt", "sftt", "typewriter", "consol", "menlo")
_FIXED_PITCH = 1
_FORCE_BOLD = 1 << 18


class Typeface(NamedTuple):
    """How glyphs look, apart from their size."""

    bold: bool
    mono: bool


def bind(function: Any, result: Any, *arguments: Any) -> Any:
    """Return a pdfium function that takes addresses instead of typed pointers.

    It takes 0.45 instead of 0.65 µs per call, which counts where it is called for each glyph.
    """
    return ctypes.PYFUNCTYPE(result, *arguments)(find_address(function))


def find_address(pointer: Any) -> int:
    """Return the address that a pointer of ctypes holds."""
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


_GET_OBJECT = bind(pdfium.FPDFText_GetTextObject, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
_GET_FONT = bind(pdfium.FPDFTextObj_GetFont, ctypes.c_void_p, ctypes.c_void_p)
_GET_SIZE = bind(pdfium.FPDFText_GetFontSize, ctypes.c_double, ctypes.c_void_p, ctypes.c_int)
_GET_MATRIX = bind(
    pdfium.FPDFText_GetMatrix, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
)


class Style(NamedTuple):
    """How glyphs look."""

    size: float
    face: Typeface
    widest_space: float
    """Code keeps two and more spaces: they separate spans."""


class PageStyles:
    """Typefaces, sizes and baselines of a page, asked of pdfium once per drawn text."""

    def __init__(self, page: Any, quarters: int) -> None:
        self._page = page
        self._address = find_address(page)
        self._quarters = quarters
        self._of_object: dict[int | None, Style | None] = {}
        self._styles: dict[Style, Style] = {}
        self._faces: dict[int | None, Typeface] = {}
        self._matrix = pdfium.FS_MATRIX()

    def find(self, indices: Sequence[int]) -> Iterator["Style | None"]:
        """Yield the style of each glyph, or None where it is turned unlike the page."""
        drawn = None
        style = None
        for index, found in zip(
            indices, map(_GET_OBJECT, repeat(self._address), indices), strict=True
        ):
            if found != drawn:
                drawn = found
                if found not in self._of_object:
                    self._of_object[found] = self._measure(index, found) if found else None
                style = self._of_object[found]
            yield style

    def find_baseline(self, index: int) -> float:
        """Return the height of the baseline of a glyph."""
        x, y = ctypes.c_double(), ctypes.c_double()
        pdfium.FPDFText_GetCharOrigin(self._page, index, x, y)
        return (y.value, -x.value, -y.value, x.value)[self._quarters]

    def _measure(self, index: int, drawn: int) -> Style | None:
        matrix = self._matrix
        _GET_MATRIX(self._address, index, ctypes.addressof(matrix))
        quarters = round(math.atan2(matrix.b, matrix.a) / (math.pi / 2)) % 4
        size = _GET_SIZE(self._address, index) * math.hypot(matrix.c, matrix.d)
        if quarters != self._quarters or not 0.1 < size < 10_000:
            return None
        font = _GET_FONT(drawn)
        if font not in self._faces:
            self._faces[font] = _read_face(ctypes.cast(font, pdfium.FPDF_FONT))
        face = self._faces[font]
        size = round(size, 1)
        style = Style(size, face, (0.9 if face.mono else CELL) * size)
        return self._styles.setdefault(style, style)


def _read_face(font: Any) -> Typeface:
    if not font:
        return Typeface(False, False)
    raw = ctypes.create_string_buffer(200)
    pdfium.FPDFFont_GetBaseFontName(font, raw, len(raw))
    name = raw.value.decode("ascii", "replace").lower()
    flags = max(0, pdfium.FPDFFont_GetFlags(font))
    # pdfium guesses a weight from the width of stems, which regular fonts may exceed.
    bold = bool(flags & _FORCE_BOLD) or any(part in name for part in _BOLD)
    mono = bool(flags & _FIXED_PITCH) or any(part in name for part in _MONO)
    return Typeface(bold, mono)
