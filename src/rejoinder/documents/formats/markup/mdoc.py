"""Turns a line of mdoc macros, the language of BSD's man pages, into text."""

from collections.abc import Sequence

_ENCLOSURES = {
    "Op": ("[", "]"), "Oo": ("[", ""), "Oc": ("", "]"), "Bq": ("[", "]"), "Bo": ("[", ""),
    "Bc": ("", "]"), "Pq": ("(", ")"), "Po": ("(", ""), "Pc": ("", ")"), "Dq": ("“", "”"),
    "Do": ("“", ""), "Dc": ("", "”"), "Sq": ("\u2018", "’"), "So": ("\u2018", ""), "Sc": ("", "’"),
    "Ql": ("\u2018", "’"), "Qq": ('"', '"'), "Qo": ('"', ""), "Qc": ("", '"'), "Aq": ("<", ">"),
    "Ao": ("<", ""), "Ac": ("", ">"), "Brq": ("{", "}"), "Bro": ("{", ""), "Brc": ("", "}"),
    "In": ("<", ">"),
}  # fmt: skip
_NAMES = {"Ux": "UNIX", "Bx": "BSD", "Fx": "FreeBSD", "Nx": "NetBSD", "Ox": "OpenBSD"} | {
    "At": "AT&T UNIX",
    "Dx": "DragonFly",
    "Bsx": "BSD/OS",
}
_PLAIN = (
    "Ad An Ap Ar Cd Cm Dv Em Er Ev Fa Fl Fn Ft Ic Li Lk Ms Mt Nd Nm No Ns Pa Pf St Sx Sy Ta Tn "
    "Va Vt Xr Fo Fc Lb Bt Ud Cd Eo Ec Xo Xc"
)
CALLABLE = frozenset(_PLAIN.split()) | set(_ENCLOSURES) | set(_NAMES)
"""Macros that give text, and may follow others on a line."""
CELL = "\t"
"""Separates the cells of a row."""
_CLOSING = frozenset(".,;:)]?!")
_OPENING = frozenset("([")


def format_macros(words: Sequence[str], name: str) -> str:
    """Return the text of macros and their arguments; `name` is the page's.

    >>> format_macros(["Op", "Fl", "l", "Ar", "file", ","], "ls")
    '[-l file],'
    >>> format_macros(["Xr", "ls", "1", "."], "")
    'ls(1).'
    """
    line = _Line()
    macro, count = "", 0  # the one that is open, and its arguments so far
    for word in words:
        if word in CALLABLE:
            line.end_macro(macro, count, name)
            macro, count = word, 0
            line.begin_macro(word)
        elif word in _CLOSING and (count or macro not in {"Fl", "Ar"}):
            line.add(word, glue=True)
        else:
            line.add_argument(macro, count, word)
            count += 1
    line.end_macro(macro, count, name)
    return line.finish()


class _Line:
    """Joins words with the spaces that mdoc puts between them."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._ends: list[str] = []  # what closes the enclosures of this line
        self._glued = True  # no space before the next word

    def add(self, text: str, *, glue: bool = False) -> None:
        if not self._glued and not glue:
            self._parts.append(" ")
        self._parts.append(text)
        self._glued = text in _OPENING

    def begin_macro(self, macro: str) -> None:
        if macro in _ENCLOSURES:
            start, end = _ENCLOSURES[macro]
            if start:
                self.add(start)
                self._glued = True
            if start and end:
                self._ends.append(end)
            elif end:
                self.add(end, glue=True)
        elif macro in {"Ns", "Ap"}:
            self._parts.append("'" if macro == "Ap" else "")
            self._glued = True
        elif macro == "Ta":
            self._parts.append(CELL)
            self._glued = True
        elif macro in _NAMES:
            self.add(_NAMES[macro])
        elif macro == "Nd":
            self.add("-")

    def add_argument(self, macro: str, count: int, word: str) -> None:
        if macro == "Fl":
            self.add(f"-{word}")
        elif macro == "Xr" and count == 1:
            self.add(f"({word})", glue=True)
        elif macro in {"Fn", "Fo"} and count:
            self._parts[-1] = self._parts[-1].removesuffix(")")
            self.add(f"{'(' if count == 1 else ', '}{word})", glue=True)
        else:
            self.add(word)
            self._glued = self._glued or (macro == "Pf" and not count)

    def end_macro(self, macro: str, count: int, name: str) -> None:
        if not count and macro == "Fl":
            self.add("-")
            self._glued = True
        elif not count and macro == "Ar":
            self.add("file ...")
        elif not count and macro == "Nm" and name:
            self.add(name)
        elif count == 1 and macro == "Fn":
            self.add("()", glue=True)

    def finish(self) -> str:
        """Return the line; closing punctuation at its end follows the enclosures."""
        after: list[str] = []
        while self._ends and self._parts and self._parts[-1] in _CLOSING:
            after.insert(0, self._parts.pop())
        return "".join([*self._parts, *reversed(self._ends), *after])
