"""Plain text for what a page shows by position: raised and lowered text, table rows, code."""

from collections.abc import Sequence

ENDINGS = (":", ".", "?", "!", ";", ",", "—")
ELLIPSES = ("...", "…")
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_SUPERSCRIPTS = dict(zip("0123456789+-\u2212=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ", strict=True))
_SUBSCRIPTS = dict(zip("0123456789+-\u2212=()aeoxn", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₒₓₙ", strict=True))


def superscript(text: str) -> str:
    """Return raised text: as Unicode where all characters have such a form, else after `^`.

    >>> superscript("31"), superscript("n+1"), superscript("q"), superscript("th")
    ('³¹', 'ⁿ⁺¹', '^q', 'th')
    """
    return text if text.strip() in _ORDINALS else _convert(text, _SUPERSCRIPTS, "^")


def subscript(text: str) -> str:
    """Return lowered text: as Unicode where all characters have such a form, else after `_`.

    >>> "H" + subscript("2") + "O", "x" + subscript("i, j")
    ('H₂O', 'x_(i, j)')
    """
    return _convert(text, _SUBSCRIPTS, "_")


def _convert(text: str, forms: dict[str, str], mark: str) -> str:
    script = text.strip()
    if all(character in forms for character in script):
        script = "".join(forms[character] for character in script)
    else:
        script = mark + (script if script.isalnum() else f"({script})")
    # Blanks at the ends separate words, raised or not.
    return text[: len(text) - len(text.lstrip())] + script + text[len(text.rstrip()) :]


def join_term(term: str, body: str) -> str:
    """Return a term with what it heads; a colon separates them where nothing else does.

    An ellipsis is part of the term: it must not end a sentence before the body.

    >>> join_term("-q", "Be quiet."), join_term("Why?", "It is hot.")
    ('-q: Be quiet.', 'Why? It is hot.')
    >>> join_term("--install FILE...", "Install it.")
    '--install FILE...: Install it.'
    """
    is_ended = term.endswith(ENDINGS) and not term.endswith(ELLIPSES)
    return f"{term} {body}" if is_ended else f"{term}: {body}"


def format_row(headings: Sequence[str], cells: Sequence[str]) -> str:
    """Return a table row on one line, each cell after the heading of its column.

    >>> format_row(["Name", "Price", ""], ["Sencha", "", "green", "5 g"])
    'Name: Sencha; green; 5 g'
    """
    heads = [*headings, *[""] * (len(cells) - len(headings))]
    pairs = zip(heads, cells, strict=False)
    return "; ".join(join_term(head, cell) if head else cell for head, cell in pairs if cell)


def strip_code(text: str) -> str:
    r"""Return code without common indentation, trailing blanks, and empty lines at its ends.

    >>> strip_code("\n    a  \n      b\n")
    'a\n  b'
    """
    lines = [line.rstrip() for line in text.expandtabs(4).split("\n")]
    indents = (len(line) - len(line.lstrip()) for line in lines if line)
    least = min(indents, default=0)
    return "\n".join(line[least:] for line in lines).strip("\n")
