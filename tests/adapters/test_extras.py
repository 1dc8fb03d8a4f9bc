import ast
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from rejoinder.adapters.reranking import need_extra
from rejoinder.errors import MissingExtraError

ROOT = Path(__file__).parents[2]
ADAPTERS = ROOT / "src/rejoinder/adapters"
FRAMEWORKS = {
    "langchain": ("langchain_core", "langchain"),
    "llama_index": ("llama_index", "llama-index"),
    "haystack": ("haystack", "haystack"),
    "rerankers": ("rerankers", "rerankers"),
    "pyterrier": ("pyterrier", "pyterrier"),
    "mteb": ("mteb", "mteb"),
}
BRINGS = {"langchain": {"pydantic"}, "pyterrier": {"pandas"}}
"""What a framework depends on, and its adapter therefore may import."""


@pytest.mark.parametrize("adapter", FRAMEWORKS)
def test_a_missing_framework_is_one_pip_install_away(
    adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, extra = FRAMEWORKS[adapter]
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.delitem(sys.modules, f"rejoinder.adapters.{adapter}", raising=False)

    with pytest.raises(MissingExtraError, match=rf"pip install 'rejoinder\[{extra}\]'"):
        import_module(f"rejoinder.adapters.{adapter}")


@pytest.mark.parametrize("adapter", FRAMEWORKS)
def test_an_adapter_imports_only_what_its_extra_brings(adapter: str) -> None:
    tree = ast.parse((ADAPTERS / f"{adapter}.py").read_text(encoding="utf-8"))

    names = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    known = sys.stdlib_module_names | {"rejoinder", "numpy"} | BRINGS.get(adapter, set())
    assert names - known == {FRAMEWORKS[adapter][0]}


def test_every_adapter_has_its_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert {extra for _, extra in FRAMEWORKS.values()} <= project["optional-dependencies"].keys()


def test_other_errors_of_a_framework_are_its_own() -> None:
    with pytest.raises(ImportError, match="too old"), need_extra("langchain"):
        raise ImportError("too old")
