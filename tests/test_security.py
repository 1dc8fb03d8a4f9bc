"""No pickle, no eval, no shell: what SECURITY.md says of the source is so."""

import ast
from pathlib import Path

import pytest

import rejoinder

ROOT = Path(rejoinder.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
FORBIDDEN_MODULES = {"pickle", "cPickle", "shelve", "marshal", "dill", "joblib", "cloudpickle"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "system", "popen"}


def find_trouble(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [item.name for item in node.names if item.name in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module in FORBIDDEN_MODULES:
            found.append(node.module)
        elif isinstance(node, ast.Call):
            found += _look_at_call(node)
    return found


def _look_at_call(call: ast.Call) -> list[str]:
    function = call.func
    name = function.id if isinstance(function, ast.Name) else ""
    owner = ""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        name, owner = function.attr, function.value.id
    options = {item.arg: item.value for item in call.keywords}
    found = [name] if name in FORBIDDEN_CALLS and owner in {"", "os", "builtins"} else []
    if "shell" in options:
        found.append("shell=")
    if (owner, name) == ("np", "load") or "allow_pickle" in options:
        found.append("np.load")
    if (owner, name) == ("torch", "load") and not _is_true(options.get("weights_only")):
        found.append("torch.load without weights_only=True")
    return found


def _is_true(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_runs_what_it_reads(module: Path) -> None:
    assert find_trouble(ast.parse(module.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from marshal import loads",
        "eval('1')",
        "import os\nos.system('ls')",
        "subprocess.run('ls', shell=True)",
        "np.load('x')",
        "torch.load('x')",
        "torch.load('x', weights_only=False)",
    ],
)
def test_it_would_be_found(code: str) -> None:
    assert find_trouble(ast.parse(code))
