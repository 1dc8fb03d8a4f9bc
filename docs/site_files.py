"""Lay out the documentation site as the repository (a hook of mkdocs.yml).

A page keeps its path from the root of the repository, and every file that a page links to is
copied beside it, so that relative links work on a code host and on the site.  Two pages have parts
that exist on the site only: the list of decisions, and the Python names from the source.
"""

import logging
import re
from collections import Counter
from pathlib import Path

from markdown_it import MarkdownIt
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import rejoinder

ROOT = Path(__file__).parent.parent
DECISIONS = "docs/decisions/README.md"
PYTHON = "docs/python-source.md"
PARTS = {"docs/server.head.md"}
"""Pages that are a part of another one."""
LINK = re.compile(r"\]\(([^)#\s]+)|(?:src|srcset)=\"([^\"]+)\"")
COUNTED = ("a", "img", "li", "pre", "table", "td", "h1", "h2", "h3")

log = logging.getLogger("mkdocs.hooks.site_files")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the files of docs/ by the pages of the repository and the files they link to."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    paths = {path.relative_to(ROOT).as_posix() for path in pages} - PARTS
    paths |= {target for path in paths for target in find_targets(path)}
    return Files(
        [
            *(file for file in files if file.src_dir != config.docs_dir),  # of the theme
            *(
                File.generated(config, path, abs_src_path=str(ROOT / path))
                for path in sorted(paths)
            ),
            File.generated(config, PYTHON, content=make_python_page()),
        ]
    )


def find_targets(page: str) -> set[str]:
    """Return the files of the repository that a page links to."""
    source = ROOT / page
    links = [one or other for one, other in LINK.findall(source.read_text(encoding="utf-8"))]
    targets = {(source.parent / link).resolve() for link in links if ":" not in link}
    return {
        target.relative_to(ROOT).as_posix()
        for target in targets
        if target.is_file() and target.is_relative_to(ROOT)
    }


def make_python_page() -> str:
    """Return the page that mkdocstrings fills, with the public names in the order of modules."""
    sections = [
        f"## {module}\n\n" + "\n\n".join(f"::: rejoinder.{module}.{name}" for name in names.split())
        for module, names in vars(rejoinder)["_NAMES"].items()
    ]
    introduction = (
        "# Python, from the source\n\nThe public names by the module that defines them; import"
        " them from `rejoinder`. The [Python API](python-api.md) has an example of each.\n"
    )
    return "\n\n".join([introduction, *sections])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """List the decisions below their introduction; indent the lists of model cards."""
    if page.file.src_uri.startswith("src/"):
        # Cards indent what belongs to an item by two spaces, where Python-Markdown wants four; the
        # bundles' checksums protect them from changes.
        indented = re.sub(r"^( +)", r"\1\1", markdown, flags=re.MULTILINE)
        return re.sub(r"^( .*\n)(?=- )", r"\1\n", indented, flags=re.MULTILINE)
    if page.file.src_uri == DECISIONS:
        decisions = sorted((ROOT / DECISIONS).parent.glob("0*.md"))
        return "\n".join([markdown, "", *(make_entry(decision) for decision in decisions)])
    return markdown


def make_entry(decision: Path) -> str:
    """Return the line of the list for a decision: its title, which begins with its number."""
    title = decision.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    return f"- [{title}]({decision.name})"


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> None:  # noqa: ARG001
    """Warn where the site does not render what a code host renders by the CommonMark rules."""
    if page.file.src_uri in {DECISIONS, PYTHON}:
        return
    rendered = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    source = (ROOT / page.file.src_uri).read_text(encoding="utf-8")
    expected = count_tags(rendered.render(source))
    found = count_tags(re.sub(r'<a class="headerlink".*?</a>', "", html))
    for tag in COUNTED:
        if found[tag] != expected[tag]:
            log.warning(
                "%s: %d <%s> on the site, %d on a code host",
                *(page.file.src_uri, found[tag], tag, expected[tag]),
            )


def count_tags(html: str) -> Counter[str]:
    """Count the opening tags of a page."""
    return Counter(re.findall(r"<([a-z]+[0-9]?)[ >]", html))
