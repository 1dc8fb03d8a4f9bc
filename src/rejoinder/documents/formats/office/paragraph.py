"""The paragraph of an office document that is being read."""

import re
from dataclasses import dataclass, field

from rejoinder.documents.blocks import Kind
from rejoinder.documents.formats.office.flow import Flow, Script, Spans
from rejoinder.documents.formats.office.styles import Properties

_PROSE = re.compile(r"[A-Z]\w* (?:\S+ ){4}.*[.!?]$", re.DOTALL)

FORMULAS = frozenset({"sup", "sub", "num", "den"})


@dataclass(slots=True)
class Paragraph:
    """Text with the properties of its style."""

    properties: Properties = field(default_factory=lambda: Properties())
    spans: Spans = field(default_factory=Spans)
    is_bold: bool = True
    """All its text is."""
    is_monospaced: bool = True
    script: Script = ""
    """Of the part of a formula that is open."""

    def add(self, text: str, run: Properties) -> None:
        """Append text with its own properties, unless it is hidden."""
        if run.get("hidden"):
            return
        self.spans.add(text, run.get("script") or self.script)
        if not text.isspace():
            self.is_bold &= run.get("bold", False)
            self.is_monospaced &= run.get("monospaced", False)

    def begin_formula(self, name: str) -> None:
        """Begin a part of a formula (OMML): an exponent, an index, half of a fraction."""
        if name in {"sup", "sub"}:
            self.script = "super" if name == "sup" else "sub"
        else:
            self.spans.add("(" if name == "num" else "/(")

    def end_formula(self, name: str) -> None:
        """End a part of a formula."""
        if name in {"sup", "sub"}:
            self.script = ""
        else:
            self.spans.add(")")

    def write(self, flow: Flow) -> None:
        """Add the paragraph to a document, as the block that it looks like."""
        text = self.spans.join()
        role, level = self.properties.get("role"), self.properties.get("level", 0)
        # A whole letter may be set in the font of code.
        is_code = self.is_monospaced and bool(text.strip()) and not _PROSE.match(text)
        if role == "contents":
            return
        if role == "title":
            flow.add_title(text)
        elif role == "term":
            flow.add_term(text)
        elif level:
            flow.add("heading", text, level)
        elif role == "code" or is_code:
            flow.add("code", text)
        elif self.properties.get("item", role == "item"):
            flow.add("item", text)
        else:
            kind: Kind = "caption" if role == "caption" else "paragraph"
            flow.add(kind, text, is_head=self.is_bold or role == "head")
