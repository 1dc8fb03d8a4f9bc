"""Rules that tell the content of a page from navigation, by structure.

Landmarks and ARIA roles name it; menus, contents and links between pages are recognised by the
share of their words that are links.  The few class names are those of generators whose navigation
has neither.
"""

import re
from collections.abc import Iterable
from typing import Literal

from rejoinder.documents.formats.html.drafts import Draft

_Place = Literal["", "hidden", "navigation", "banner", "aside", "main", "section", "layout"]
_Form = Literal["heading", "title", "rubric", "caption", "item", "code"]
Part = _Place | _Form
"""What an element is to a reader; empty if it says nothing."""

LINK_SHARE = 0.75
"""A list, table or division with a larger share of links is navigation; chosen on manuals."""
MAX_STEPS_SIZE = 400
"""Characters; longer text with links to the previous and the next page is content as well."""
_MAX_LABEL = 30
"""Characters that may label a line of links: "Available languages: en | fr | ja"."""

_PARTS_OF_ROLES: dict[str, Part] = {
    **dict.fromkeys(
        {"navigation", "search", "contentinfo", "menu", "menubar", "toolbar", "tablist", "tooltip"}
        | {"dialog", "alertdialog", "directory", "doc-toc", "doc-index", "doc-pagelist"}
        | {"doc-backlink", "doc-noteref"},
        "navigation",
    ),
    "banner": "banner",
    "complementary": "aside",
    "main": "main",
    "heading": "heading",
    "presentation": "layout",
    "none": "layout",
}
_PARTS_OF_TAGS: dict[str, Part] = {
    "nav": "navigation",
    "header": "banner",
    "aside": "aside",
    "main": "main",
    "article": "main",
}
_PARTS_OF_CLASSES: dict[str, Part] = {
    **dict.fromkeys(
        # for screen readers or the mouse: permalinks, line numbers, links to the source
        {"sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "headerlink"}
        | {"permalink", "hash-link", "anchorjs-link", "viewcode-link", "viewcode-back", "lineno"}
        | {"linenos", "line-number", "line-numbers", "copybtn", "mw-editsection", "noprint"}
        | {"MsoFootnoteReference", "MsoEndnoteReference", "MsoHeader", "MsoFooter"}
        | {"footnote-ref", "footnote-reference", "footnote-backref", "dynheader", "ingroups"},
        "hidden",
    ),
    **dict.fromkeys(
        # Sphinx, DocBook, Doxygen, Javadoc, Texinfo, GitBook and Word
        {"sphinxsidebar", "related", "navheader", "navfooter", "navpath", "toc", "breadcrumb"}
        | {"breadcrumbs", "topNav", "subNav", "bottomNav", "nav-panel", "book-summary", "footer"}
        | {*(f"MsoToc{level}" for level in range(1, 10)), "MsoTocHeading"},
        "navigation",
    ),
    "body": "main",
    "section": "section",
    **dict.fromkeys(["fragment", "code", "code-block", "codeblock"], "code"),
    **dict.fromkeys(["caption", "title", "MsoCaption", "admonition-title"], "caption"),
    "rubric": "rubric",
    **dict.fromkeys(["MsoTitle", "headertitle"], "title"),
    **dict.fromkeys(
        [f"MsoListParagraph{at}" for at in ("", "CxSpFirst", "CxSpMiddle", "CxSpLast")], "item"
    ),
}
_PARTS_OF_IDS: dict[str, Part] = dict.fromkeys(
    # Doxygen, and pages older than the elements for it; not of sections, named after headings
    {"titlearea", "side-nav", "nav-tree", "nav-path", "main-nav", "MSearchSelectWindow"}
    | {"MSearchResultsWindow", "footer", "toc", "sidebar"},
    "navigation",
)
_NOT_DISPLAYED = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_classes: dict[str, Part] = {}


def part_of(tag: str, attributes: Iterable[tuple[str, str]]) -> Part:
    """Return the part of the page that an element is."""
    part: Part = _PARTS_OF_TAGS.get(tag, "")
    part_of_id: Part = ""
    for name, value in attributes:
        if name == "class":
            part = _part_of_class(value) or part
        elif name == "role":
            part = _PARTS_OF_ROLES.get(value, part)
        elif name == "id" and tag == "div":
            part_of_id = _PARTS_OF_IDS.get(value, "")
        elif (
            name == "hidden"
            or (name == "aria-hidden" and value == "true")
            or (name == "style" and _NOT_DISPLAYED.search(value))
        ):
            return "hidden"
    return part or part_of_id


def _part_of_class(names: str) -> Part:
    part = _classes.get(names)
    if part is None:
        if len(_classes) > 10_000:
            _classes.clear()
        parts = (_PARTS_OF_CLASSES.get(name) for name in names.split()[:20])
        part = _classes[names] = next(filter(None, parts), "")
    return part


SYMBOLS = frozenset(
    {"¶", "#", "§", "🔗", "⚓", "^", "↑", "↩", "↩︎", "⇑", "⬆", "more...", "more…"}
    | {"[edit]", "[source]", "[docs]", "\uf0c1"}
)
"""Links that are no words of the text."""
_STEPS = frozenset(
    {"prev", "previous", "next", "up", "home", "top", "index", "contents", "back", "forward"}
    | {"table of contents", "toc", "last", "first", "search", "previous page", "next page"}
    | {"previous chapter", "next chapter", "previous topic", "next topic", "back to top"}
    | {"skip to content", "skip to main content", "jump to navigation", "jump to search"}
)
_RELATIONS = frozenset({"prev", "previous", "next", "up", "start", "index", "contents", "top"})
_ARROWS = " \t\n\xa0«»<>\u2039\u203a←→↑|[]()&:-\u2013⟨⟩\u276e\u276f"


def is_step(text: str, relation: str | None, key: str | None) -> bool:
    """Say whether a link leads to the previous, next or parent page."""
    return (
        (relation is not None and relation.lower() in _RELATIONS)
        or (key is not None and key.lower() in {"p", "n", "u", "h", "i"})
        or (len(text) < 24 and text.strip(_ARROWS).casefold() in _STEPS)
    )


_SEPARATED = re.compile(r"(?:^|\s)[|·•»\u203a>](?=\s|$)")
_LABELS = re.compile(r"\b(?:next|previous|prev|up|contents|index)\s*:", re.IGNORECASE)


def is_line_of_links(draft: Draft) -> bool:
    """Say whether a block is nothing but links: a menu, a breadcrumb trail, Prev and Next."""
    are_links = draft.linked >= LINK_SHARE * draft.size
    if draft.links < 2:
        return are_links and draft.links == draft.steps == 1 and draft.kind == "paragraph"
    is_separated = len(_SEPARATED.findall(draft.text)) >= draft.links - 1
    if draft.kind == "item":  # without separators, the list decides
        return are_links and is_separated
    if are_links or len(draft.text) > MAX_STEPS_SIZE:
        return are_links
    if draft.steps >= 2 or len(_LABELS.findall(draft.text)) >= 2:
        return True
    return is_separated and draft.size - draft.linked < _MAX_LABEL


def is_menu(drafts: Iterable[Draft]) -> bool:
    """Say whether blocks together are navigation."""
    size = linked = links = steps = 0
    for draft in drafts:
        if draft.kind != "heading":
            size += draft.size
            linked += draft.linked
            links += draft.links
            steps += draft.steps
    return is_navigation(size, linked, links, steps)


def is_navigation(size: int, linked: int, links: int, steps: int) -> bool:
    """Say by its sums whether a list, table or division is navigation."""
    if links < 2:
        return False
    return linked >= LINK_SHARE * size or (steps >= 2 and size <= MAX_STEPS_SIZE)
