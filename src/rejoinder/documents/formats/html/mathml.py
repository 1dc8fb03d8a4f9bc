"""MathML as plain text: x^2, a/b, √x."""

from typing import Any

from rejoinder.documents.blocks import fold
from rejoinder.documents.notation import subscript, superscript

_MAX_DEPTH = 20


def read_math(element: Any, depth: int = 0) -> str:
    """Return a formula on one line; deeply nested parts lose their structure."""
    tag = element.tag
    if tag in {"annotation", "annotation-xml"}:
        return ""
    if depth > _MAX_DEPTH:
        return fold("".join(element.itertext()))
    if not len(element):
        return fold(element.text or "")
    parts = [read_math(child, depth + 1) for child in element]
    if tag == "msup" and len(parts) == 2:
        return parts[0] + superscript(parts[1])
    if tag == "msub" and len(parts) == 2:
        return parts[0] + subscript(parts[1])
    if tag == "mfrac" and len(parts) == 2:
        return "/".join(part if part.isalnum() else f"({part})" for part in parts)
    if tag == "msqrt":
        return f"√({''.join(parts)})"
    return (" " if tag in {"math", "mtr", "mtable"} else "").join(filter(None, parts))
