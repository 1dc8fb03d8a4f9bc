r"""Reads the lines of roff, the language of man pages: requests, arguments and escapes."""

import re
from collections.abc import Iterator, Mapping

from rejoinder.documents.notation import superscript


def join_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield the lines without comments, each with its number; `\` at the end continues one."""
    number, parts = 0, list[str]()
    for place, line in enumerate(text.splitlines(), start=1):
        number = number or place
        line = _COMMENT.sub("", line) if '\\"' in line or "\\#" in line else line
        if line.endswith("\\") and not line.endswith("\\\\"):
            parts.append(line[:-1])
            continue
        yield number, "".join([*parts, line])
        number, parts = 0, []
    if parts:
        yield number, "".join(parts)


def split_arguments(text: str) -> list[str]:
    r"""Return the arguments of a request; quotes keep blanks.

    >>> split_arguments(r'-x "a ""b"" c" d\ e')
    ['-x', 'a "b" c', 'd\\ e']
    """
    return [
        match[1].replace('""', '"') if match[1] is not None else match[0]
        for match in _ARGUMENT.finditer(text)
    ]


def replace_escapes(text: str, strings: Mapping[str, str]) -> str:
    r"""Return text without fonts and sizes, with special characters and strings.

    >>> replace_escapes(r"\fBls\fR \-l \(em \*(Tm 2\u31\d", {"Tm": "TM"})
    'ls -l — TM 2³¹'
    """
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        if name := match["string"]:
            return strings.get(_unwrap(name), "")
        if name := match["character"]:
            return _find_character(_unwrap(name))
        if match["raised"] is not None:
            return superscript(_ESCAPE_ANY.sub("", match["raised"])) if match["raised"] else ""
        return _SINGLE.get(match["single"] or "", "")

    return _ESCAPE.sub(replace, text)


def _unwrap(name: str) -> str:
    return name[1:] if name[0] == "(" else name.strip("[]'")


def _find_character(name: str) -> str:
    if name in _CHARACTERS:
        return _CHARACTERS[name]
    if code := _CODE_POINT.match(name):
        point = int(code[1], 16)
        return chr(point) if point < 0x110000 else ""
    accented = _ACCENTS.get(name[:1], "") if len(name) == 2 else ""
    if accented:
        import unicodedata

        return unicodedata.normalize("NFC", name[1] + accented)
    return ""


_COMMENT = re.compile(r"(?<!\\)(?:\\\\)*\\[\"#].*$")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|(?:[^ \t\\]|\\.)+|\\$')
_ESCAPE_ANY = re.compile(r"\\(?:[fs](?:\(..|\[[^\]]{0,60}\]|[+-]?.)|.)")
_NAME = r"(?:\(..|\[[^\]]{0,60}\]|.)"
_ESCAPE = re.compile(
    rf"\\(?:\*(?P<string>{_NAME})"
    r"|(?P<character>\(..|\[[^\]]{0,60}\])"
    r"|C(?P<quoted>'[^']{0,200}')"
    rf"|[fFgkmMnVYO]{_NAME}"
    r"|s(?:[+-]?\d\d?|[+-]?\(..|[+-]?\[[^\]]{0,60}\]|[+-]?'[^']{0,200}')"
    r"|[bDhHlLNoRSvwxXZA]'[^']{0,200}'"
    r"|u(?P<raised>[^\\]{0,60}(?:\\[^du][^\\]{0,60}){0,4})\\d"
    r"|(?P<single>.))"
)
_SINGLE = dict(zip("-e\\E ~0'`._t", "-\\\\\\   \u00b4`._\t", strict=True))
_CODE_POINT = re.compile(r"u([0-9A-F]{4,6})$")
_ACCENTS = dict(zip(":'`^~,ov", "\u0308\u0301\u0300\u0302\u0303\u0327\u030a\u030c", strict=True))
_NAMED = """
aq ' cq ’ oq ‘ lq “ rq ” dq " em — en – hy - bu • co © rg ® tm ™ mu × +- ± <= ≤ >= ≥ != ≠ -> → <- ←
<> ↔ ha ^ ti ~ rs \\ ga ` aa ´ sl / bv | ba | or | de ° mc µ at @ sh # Do $ lB [ rB ] lC { rC }
la < ra > dd ‡ dg † sc § sq □ 14 ¼ 12 ½ 34 ¾ Eu € eu € Po £ Ye ¥ ct ¢ fm ′ if ∞ pl + mi - eq = == ≡
~~ ≈ ~= ≅ sr √ di ÷ ss ß oe œ OE Œ ae æ AE Æ /o ø /O Ø /l ł /L Ł -D Ð Tp þ oa å r! ¡ r? ¿ Fo « Fc »
fo ‹ fc › bq ‚ Bq „ ul _ rn ‾ ru _ no ¬ S1 ¹ S2 ² S3 ³ *a α *b β *g γ *d δ *e ε *l λ *m μ *p π *s σ
*h θ *w ω *D Δ *S Σ *W Ω lh ☜ rh ☞ OK ✓ ci ○ an —
"""  # noqa: RUF001
_CHARACTERS = dict(zip(_NAMED.split()[::2], _NAMED.split()[1::2], strict=True))
