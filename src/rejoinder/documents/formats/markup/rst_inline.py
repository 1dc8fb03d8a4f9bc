"""Removes the inline marks of reStructuredText."""

import re
from collections.abc import Mapping

from rejoinder.documents.notation import subscript, superscript


def strip_marks(text: str, substitutions: Mapping[str, str]) -> str:
    """Return the text that a reader sees: without emphasis, roles, link and footnote targets.

    >>> strip_marks("Use :ref:`the kettle <kettle>` or ``tea -x`` [1]_ **now**.", {})
    'Use the kettle or tea -x now.'
    """

    def replace(match: re.Match[str]) -> str:
        if match["literal"] is not None:
            return match["literal"]
        if match["quoted"] is not None:
            return _read_role((match["role"] or match["suffix"] or "").strip(":"), match["quoted"])
        if match["substitution"] is not None:
            return substitutions.get(match["substitution"].strip(), "")
        if match["escaped"] is not None:
            return match["escaped"].strip()
        return match["strong"] or match["emphasis"] or ""

    return _INLINE.sub(replace, text)


def _read_role(role: str, text: str) -> str:
    """Return what a role shows of its text."""
    text = _ESCAPE.sub(r"\1", text)
    named = _EXPLICIT_TITLE.match(text)
    if named:
        return named[1].strip()
    role = role.rpartition(":")[2].lower()
    if role in _SCRIPTS:
        return _SCRIPTS[role](text)
    if role in {"pep", "rfc"}:
        return f"{role.upper()} {text}"
    if role == "file":
        return text.replace("{", "").replace("}", "")
    if text.startswith("~"):
        return text.rpartition(".")[2].lstrip("~")
    is_target = text.startswith("<") and text.endswith(">")
    return text[1:-1] if is_target else text.removeprefix("!")


_SCRIPTS = {
    "sup": superscript,
    "superscript": superscript,
    "sub": subscript,
    "subscript": subscript,
}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_EXPLICIT_TITLE = re.compile(r"(.*\S)\s+<[^<>]*>$", re.DOTALL)
# Every class excludes the character that closes it, so that no part is scanned twice.
_INLINE = re.compile(
    r"``(?P<literal>[^`]+(?:`[^`]+)*)``"
    r"|(?P<role>:[A-Za-z][\w.+:-]{0,60}:)?_?`(?P<quoted>[^`]+)`"
    r"(?P<suffix>:[A-Za-z][\w.+:-]{0,60}:)?_{0,2}"
    r"|[ ]?\[(?:\#?[\w-]{0,60}|\*)\]_(?!\w)"  # footnotes
    r"|(?<![\w*])\*\*(?P<strong>[^\s*][^*]*)\*\*"
    r"|(?<![\w*])\*(?P<emphasis>[^\s*][^*]*)\*(?!\w)"
    r"|(?<![\w|])\|(?P<substitution>[^\s|][^|]{0,60})\|_{0,2}(?![\w|])"
    r"|(?<=[^\W_])__?(?![^\s'\")\]}>:.,;!?\\-])"  # the end of a reference
    r"|\\(?P<escaped>.)",
    re.DOTALL,
)
