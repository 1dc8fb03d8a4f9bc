"""Removes the inline marks of AsciiDoc."""

import html
import re
from collections.abc import Mapping

from rejoinder.documents.notation import subscript, superscript


def strip_marks(text: str, attributes: Mapping[str, str]) -> str:
    """Return the text that a reader sees: without formatting, link targets and footnotes.

    >>> strip_marks("See link:x.html[the *pot*] at 2^31^, `tea -x` {n}.", {"n": "now"})
    'See the pot at 2³¹, tea -x now.'
    """
    text = _ATTRIBUTE.sub(lambda match: attributes.get(match[1].lower(), match[0]), text)
    codes: list[str] = []  # kept as they are, with marks in their places

    def keep(match: re.Match[str]) -> str:
        codes.append(match[1] or match[2])
        return _MARK

    text = _CODE.sub(keep, text.replace(_MARK, ""))
    text = _MACRO.sub(_read_macro, _REMOVED.sub("", text))
    text = _REFERENCE.sub(lambda match: match[2] or match[3] or match[1].lstrip("#"), text)
    text = _QUOTED.sub(_read_quotes, text)
    for pattern in (_UNCONSTRAINED, _CONSTRAINED):
        # Twice, because marks stand inside marks.
        text = pattern.sub(r"\2", pattern.sub(r"\2", text))
    text = _SUPERSCRIPT.sub(lambda match: superscript(match[1]), text)
    text = _SUBSCRIPT.sub(lambda match: subscript(match[1]), text)
    text = html.unescape(_ESCAPE.sub("", text))
    kept = iter(codes)
    return re.sub(_MARK, lambda _: next(kept, ""), text)


def _read_macro(match: re.Match[str]) -> str:
    name, target, content = match[1], match[2], match[3]
    if name in {"image", "icon", "footnote", "footnoteref", "anchor", "indexterm", "toc"}:
        return ""
    content = content.strip("\"'") if name != "pass" else content
    if name == "linkgit":
        return f"{target}({content})" if content else target
    if name == "menu":
        return f"{target} > {content}" if content else target
    if name in {"http", "https", "ftp", "irc"}:
        return content.partition(",role=")[0].removesuffix("^") or f"{name}:{target}"
    return content.removesuffix("^") or target


def _read_quotes(match: re.Match[str]) -> str:
    return f"\u2018{match[3]}’" if match[3] else f"“{match[1] or match[2]}”"


_ATTRIBUTE = re.compile(r"(?<!\\)\{([\w-]{1,60})\}")
_REMOVED = re.compile(r"\[\[[^\[\]]{1,200}\]\]|\(\(\([^()]{1,300}\)\)\)")
# Every class excludes the characters that open another, so that no part is scanned twice.
_MACRO = re.compile(
    r"\b(link|xref|mailto|linkgit|image|icon|kbd|btn|menu|pass|stem|latexmath|asciimath|footnote"
    r"|footnoteref|anchor|indexterm|http|https|ftp|irc):{1,2}([^\s\[\]<>]{0,500})"
    r"\[([^\[\]]{0,1000})\]"
)
_REFERENCE = re.compile(r"<<([^<>,]{1,200})(?:,\s*([^<>]{1,500}))?>>|\(\(([^()]{1,200})\)\)")
_MARK = "\ue000"
_CODE = re.compile(
    r"(?<![\w`\"'\\])`(?:\+([^`+]{1,1000})\+|([^`\s](?:[^`]{0,1000}[^`\s])?))`(?![\w`\"'])"
)
_QUOTED = re.compile(r"\"`([^`]{1,500})`\"|``([^`']{1,500})''|'`([^`]{1,500})`'")
_UNCONSTRAINED = re.compile(r"(\*\*|__|``|##|\+\+\+?)([^*_`#+\s][^*`#+]{0,1000}?)\1")
_CONSTRAINED = re.compile(
    r"(?<![\w\\*_`#+])(?:\[[^\[\]]{0,100}\](?=#))?([*_`#+])(?=\S)((?:(?!\1).){1,1000})(?<=\S)\1(?!\w)"
)
_SUPERSCRIPT = re.compile(r"\^([^\s^]{1,100})\^")
_SUBSCRIPT = re.compile(r"(?<![~/\s])~([^\s~]{1,100})~")
_ESCAPE = re.compile(r"\\(?=[*_`#{<\[(~^+])")
