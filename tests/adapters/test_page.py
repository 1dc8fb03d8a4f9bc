from pathlib import Path

from rejoinder.adapters.pruning import prune
from rejoinder.adapters.reranking import rerank
from rejoinder.cascade.cascade import Cascade
from rejoinder.models.lexical.scorers import WordOverlap
from tests.adapters.run import SECTIONS
from tests.adapters.test_extras import FRAMEWORKS
from tests.adapters.texts import QUESTION, TEA

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/adapters.md").read_text(encoding="utf-8")


def test_every_extra_is_on_the_page() -> None:
    assert [extra for _, extra in FRAMEWORKS.values() if f"`rejoinder[{extra}]`" not in PAGE] == []


def test_every_key_of_the_metadata_is_on_the_page(lexical: Cascade) -> None:
    (item,) = rerank(QUESTION, [TEA], scorer=WordOverlap())
    (pruned,) = prune(QUESTION, [TEA], scorer=lexical)

    keys = [*item.metadata, *pruned.metadata]
    assert [key for key in keys if f"`{key}`" not in PAGE] == []


def test_every_section_is_tried_and_every_framework_has_tests_and_an_example() -> None:
    headings = [line[3:] for line in PAGE.splitlines() if line.startswith("## ")]

    assert sorted(headings) == sorted(
        ["Prune", *(name for names in SECTIONS.values() for name in names)]
    )
    for name in SECTIONS:
        module = name.replace("-", "_")
        assert (ROOT / f"tests/adapters/frameworks/test_{module}.py").exists()
        assert (ROOT / f"tests/adapters/requirements/{name}.txt").exists()
        assert (ROOT / f"examples/adapters/with_{module}.py").exists()
