"""The layers, the size of folders, and names with one meaning."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import rejoinder
from tests.conftest import is_slow

ROOT = Path(rejoinder.__file__).parent
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))

# A layer may import the rows above its own.
LAYERS = [
    {"errors"},
    {"extras"},
    {"types"},
    {"storage", "text"},
    {"datasets", "bundle", "documents"},
    {"models"},
    {"cascade", "index"},
    {"retrieval"},
    {"evaluation", "engine"},
    {"training"},
    {"papers", "server", "adapters", "batch"},
    {"mcp"},
    {"cli"},
    {"__main__"},
]
TORCH = re.compile(r"models/(encoders/.*|\w+/(module|export)(/.*|_\w+)?)\.py")
"""Model files that may import torch: the modules, the exports, and the encoders."""
DEVICE = re.compile(r"(is_)?(cpu|cuda|mps)(:\d+)?")
FACTORY = re.compile(r"torch\.(arange|empty|eye|full|ones|rand\w*|zeros)")
ON_HOST = {"__init__", "pad_texts"}
SHARED_NAMES = {"RejoinderCompressor", "RejoinderRanker", "RejoinderRerank"}
"""Adapters: each framework has its own class of this name."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imported_packages(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
            if node.module == "rejoinder":
                names.update(f"rejoinder.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    packages = {name.split(".")[1] for name in names if name.startswith("rejoinder.")}
    return packages & LEVEL.keys()


def imported_libraries(path: Path) -> set[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
        elif isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
    return {name.split(".")[0] for name in names}


def layer_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


@pytest.mark.parametrize(
    "module", [module for module in MODULES if layer_of(module) != "__init__"], ids=str
)
def test_imports_point_down(module: Path) -> None:
    own = layer_of(module)
    assert own in LEVEL, f"{own} has no place in the design"

    above = {
        name
        for name in imported_packages(ROOT / module)
        if name != own and LEVEL[name] >= LEVEL[own]
    }

    assert not above


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_only_training_knows_torch(module: Path) -> None:
    if layer_of(module) in {"training", "papers"} or TORCH.fullmatch(module.as_posix()):
        return

    assert not imported_libraries(ROOT / module) & {"torch", "transformers"}


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_one_module_names_a_device_of_torch(module: Path) -> None:
    # Without torch, "cpu" and "cuda" are execution providers of onnxruntime.
    is_torch = layer_of(module) == "training" or "torch" in imported_libraries(ROOT / module)
    if not is_torch or module == Path("training/devices.py"):
        return

    nodes = list(ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))))
    strings = {node.value for node in nodes if isinstance(node, ast.Constant)}
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}

    assert not {name for name in strings if DEVICE.fullmatch(str(name))}
    assert not {name for name in attributes if DEVICE.fullmatch(name)}


@pytest.mark.parametrize(
    "module", [module for module in MODULES if TORCH.fullmatch(module.as_posix())], ids=str
)
def test_networks_create_tensors_where_their_inputs_are(module: Path) -> None:
    # Weights are created on the host, and moved; so are batches, and the samples of an export.
    if module.name.startswith("export"):
        return
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    nowhere = {
        (function.name, call.lineno)
        for function in functions
        if function.name not in ON_HOST
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and FACTORY.fullmatch(ast.unparse(call.func))
        and "device" not in {keyword.arg for keyword in call.keywords}
    }

    assert nowhere == set()


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_one_module_imports_onnxruntime(module: Path) -> None:
    # Elsewhere it would be loaded with its telemetry on.
    if module != Path("models/onnx_session.py"):
        assert "onnxruntime" not in imported_libraries(ROOT / module)


def test_no_folder_has_more_than_fifteen_modules() -> None:
    sizes = Counter(module.parent for module in MODULES if module.name != "__init__.py")

    assert [folder for folder, size in sizes.items() if size > 15] == []


def test_no_two_classes_share_a_name() -> None:
    names = Counter(
        node.name
        for module in MODULES
        for node in ast.parse((ROOT / module).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert {name for name, count in names.items() if count > 1} == SHARED_NAMES


@pytest.mark.parametrize(
    "heavy",
    [
        "torch",
        "ir_measures",
        "spacy",
        "scipy",
        "rich",
        "sentencex",
        "onnxruntime",
        "pyarrow",
        "mcp",
    ],
)
def test_importing_rejoinder_imports_nothing_heavy(heavy: str) -> None:
    code = f"import sys, rejoinder; sys.exit({heavy!r} in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_help_does_not_pay_for_numpy() -> None:
    code = (
        "import sys\n"
        "from rejoinder.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "sys.exit('numpy' in sys.modules)"
    )

    assert (
        subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode
        == 0
    )


def test_a_question_imports_few_modules(tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("Green tea is brewed at 75 °C.", encoding="utf-8")
    code = (
        "import sys\n"
        "from rejoinder.cli import main\n"
        f"main(['ask', 'how hot is green tea?', {str(tmp_path)!r}], standalone_mode=False)\n"
        "print(sum(name.startswith('rejoinder.') for name in sys.modules))"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ask = [sys.executable, "-c", code]
    subprocess.run(ask, check=True, capture_output=True, env=environment)

    # The second question reads no file.
    result = subprocess.run(ask, check=True, capture_output=True, text=True, env=environment)

    assert int(result.stdout.splitlines()[-1]) <= 96


def test_a_question_to_an_index_imports_no_event_loop(tmp_path: Path) -> None:
    # They take a tenth of the time of a question in a new process.
    folder = tmp_path / "index"
    with rejoinder.Index(folder, create=True) as index:
        index.add_documents([rejoinder.Document("tea", text="Green tea is brewed at 75 °C.")])
    code = (
        "import sys\n"
        "from rejoinder.cli import main\n"
        f"main(['ask', 'how hot is tea?', '--index', {str(folder)!r}], standalone_mode=False)\n"
        "print({'asyncio', 'ssl', 'tempfile', 'multiprocessing', 'mcp'} & sys.modules.keys())"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )

    assert result.stdout.splitlines()[-1] == "set()"


def test_every_package_has_fast_tests() -> None:
    """`make quick` covers all of them."""
    folders = {Path(__file__).parent / path.parts[0] for path in MODULES if len(path.parts) > 1}
    slow = [f.name for f in folders if all(map(is_slow, f.rglob("test_*.py")))]

    assert slow == []
