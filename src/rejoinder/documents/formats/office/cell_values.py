"""Formats the numbers of spreadsheet cells as a person sees them: dates, percentages, times."""

import math
import re
from datetime import datetime, timedelta
from typing import Literal

NumberFormat = Literal["", "date", "time", "elapsed", "percent"]

_BUILT_IN: dict[str, NumberFormat] = {
    **dict.fromkeys(("9", "10"), "percent"),
    **dict.fromkeys(("14", "15", "16", "17", "22"), "date"),
    **dict.fromkeys((str(number) for number in (*range(27, 37), *range(50, 59))), "date"),
    **dict.fromkeys(("18", "19", "20", "21"), "time"),
    **dict.fromkeys(("45", "46", "47"), "elapsed"),
}
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]")
_LITERAL = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|[_*].|am/pm|a/p|general')
_DAY = 86_400
_MAX_DAYS = 2_950_000  # datetime ends with the year 9999, of either calendar


def find_format(number: str, code: str) -> NumberFormat:
    """Return what a number format shows, by its code, or by its number if it is built in.

    >>> find_format("164", 'dd"th of "mmmm'), find_format("9", ""), find_format("165", "0.00")
    ('date', 'percent', '')
    """
    if not code:
        return _BUILT_IN.get(number, "")
    first = code.lower().partition(";")[0]
    if _ELAPSED.search(first):
        return "elapsed"
    letters = set(_LITERAL.sub("", first))
    if letters & {"y", "d"} or ("m" in letters and not letters & {"h", "s"}):
        return "date"
    if letters & {"h", "s"}:
        return "time"
    return "percent" if "%" in letters else ""


def format_number(text: str, number_format: NumberFormat, *, from_1904: bool = False) -> str:
    """Return a number in its format; dates in ISO form, integers without a fraction.

    >>> format_number("43831.5", "date"), format_number("0.07", "percent")
    ('2020-01-01 12:00', '7%')
    >>> format_number("3.0", ""), format_number("0.30000000000000004", "")
    ('3', '0.3')
    """
    try:
        value = float(text)
    except ValueError:
        return text
    if not math.isfinite(value):
        return text
    if number_format == "percent":
        return f"{value * 100:.12g}%"
    if number_format and 0 <= value <= _MAX_DAYS:
        return _format_time(value, number_format, from_1904=from_1904)
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"


def _format_time(days: float, number_format: NumberFormat, *, from_1904: bool) -> str:
    seconds = round(days * _DAY)
    if number_format == "elapsed" or (number_format == "time" and days < 1):
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        return clock.removesuffix(":00") if number_format == "time" else clock
    start = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 30)
    if days < 60 and not from_1904:
        start += timedelta(days=1)  # Excel has a 29th of February 1900
    moment = start + timedelta(seconds=seconds)
    if seconds % _DAY == 0:
        return f"{moment:%Y-%m-%d}"
    return moment.isoformat(" ").removesuffix(":00")
