"""Superscripts and subscripts in plain text."""

import re

_SUPER = dict(
    zip(
        "0123456789+-\u2212=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVW",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ",
        strict=True,
    )
)
_SUB = dict(
    zip("0123456789+-\u2212=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True)
)
_PLAIN = {"TM": "™", "tm": "™", "(TM)": "™", "SM": "℠", "R": "®", "(R)": "®", "®": "®", "™": "™"}
_NOTE = re.compile(r"\[[^\]]{1,20}\]|[*†‡§¶]+")
_WORD_BEFORE = re.compile(r"[^\W\d_]{4}$|[.,;:!?)\]\"'”’]$")


def superscript(text: str, before: str, *, linked: bool) -> str:
    """Return a superscript as Unicode or with `^`; empty if it is the mark of a footnote.

    >>> superscript("31", "2", linked=False), superscript("(n+q)", "2", linked=False)
    ('³¹', '^(n+q)')
    >>> superscript("1", "as shown", linked=False), superscript("th", "5", linked=False)
    ('', 'th')
    """
    if not text or linked or _NOTE.fullmatch(text):
        return ""
    if text in _PLAIN:
        return _PLAIN[text]
    if text.isdecimal() and len(text) <= 2 and (not before or _WORD_BEFORE.search(before)):
        return ""
    if text.isalpha() and len(text) > 1 and (before[-1:].isdigit() or not before[-1:].isalnum()):
        return text  # 5th
    return _script(text, _SUPER, "^")


def subscript(text: str) -> str:
    """Return a subscript as Unicode or with `_`.

    >>> subscript("2"), subscript("max"), subscript("i, j")
    ('₂', '_max', '_(i, j)')
    """
    return _script(text, _SUB, "_") if text else ""


def _script(text: str, characters: dict[str, str], mark: str) -> str:
    word = text.isalnum()
    if not (word and len(text) > 1 and not text.isdecimal()) and all(map(characters.get, text)):
        return "".join(map(characters.__getitem__, text))
    if word or (text[0] == "(" and text[-1] == ")"):
        return mark + text
    return f"{mark}({text})"
