"""First answers that are none by their form: headings, questions and fragments.

The rules are simpler than the product's own (`documents/answerable.py`), and know the headings of
the corpus, so they also judge what the product lets pass, and contenders that have no such rules.
"""

from benchmarks.manuals.pages import normalize
from rejoinder.index.index import Index
from rejoinder.index.sqlite.documents import split_path

MAX_FRAGMENT = 2
"""Words."""
_CLOSING = " \t\r\n\"')]*_`\u201d\u2019"


def find_headings(index: Index) -> frozenset[str]:
    """Return the headings and titles of all documents, normalized."""
    paths = index.store.query("SELECT DISTINCT path FROM blocks")
    titles = index.store.query("SELECT DISTINCT title FROM documents")
    headings = {heading for (path,) in paths for heading in split_path(path)}
    return frozenset(map(normalize, headings | {title for (title,) in titles})) - {""}


def name_shape(answer: str, headings: frozenset[str]) -> str:
    """Return `heading`, `question` or `fragment`; an empty text for any other sentence.

    A lead-in whose code follows on lines of its own is whole.

    >>> name_shape("How they form", frozenset({"howtheyform"}))
    'heading'
    >>> [name_shape(text, frozenset()) for text in ("Why?", "such as:", "It rained.")]
    ['question', 'fragment', '']
    """
    text = answer.rstrip(_CLOSING)
    if normalize(answer) in headings and not text.endswith((".", "!")):
        return "heading"
    if text.endswith("?"):
        return "question"
    is_open = text.endswith((":", ",", ";")) and "\n" not in text
    return "fragment" if is_open or len(answer.split()) <= MAX_FRAGMENT else ""
