"""Workflows, hooks and the container description: linted, and in step with the project."""

import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from rejoinder.cli.ranking.serve import serve
from tests.container import CONTAINERFILE, read_instructions

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
BIN = Path(sys.executable).parent


def test_no_file_has_conflict_markers() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    markers = r"^(<<<<<<<|>>>>>>>|\|\|\|\|\|\|\|) "  # a line of = is also a heading
    found = subprocess.run(
        ["git", "grep", "-n", "-I", "-E", markers], check=False, capture_output=True, cwd=ROOT
    )

    assert found.stdout.decode() == ""
    assert found.returncode == 1


def run(*command: str | Path) -> None:
    done = subprocess.run(
        [str(BIN / command[0]), *map(str, command[1:])],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_build_without_a_compiler_is_of_python_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setenv("CC", "no-such-compiler")
    hook = importlib.import_module("hatch_build").KernelHook
    config = WheelBuilder(str(ROOT)).config
    build: dict[str, object] = {"artifacts": []}

    hook(str(ROOT), {}, config, None, "", "wheel").initialize("standard", build)

    assert build == {"artifacts": []}


def test_workflows_follow_their_schema() -> None:
    run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)


def test_workflows_are_safe() -> None:
    # Actions are pinned by hash, tokens are not kept, nothing is interpolated into a shell.
    run("zizmor", "--offline", "--no-progress", *WORKFLOWS)


def test_hooks_are_valid() -> None:
    run("pre-commit", "validate-config", ".pre-commit-config.yaml")


@pytest.mark.skipif(not shutil.which("hadolint", path=str(BIN)), reason="has no build for Windows")
def test_the_container_description_has_no_fault() -> None:
    run("hadolint", CONTAINERFILE)


def test_the_container_does_not_run_as_root_and_has_the_port_of_the_server() -> None:
    found = read_instructions(CONTAINERFILE.read_text(encoding="utf-8"))
    (port,) = (option.default for option in serve.params if option.name == "port")

    assert [item.text for item in found if item.name == "USER"] == ["10001"]
    assert [item.text for item in found if item.name == "EXPOSE"] == [str(port)]


def test_a_container_description_is_read_by_stages() -> None:
    text = """FROM a AS build
# RUN nothing
RUN one \\
  # two
  && three

FROM b
USER 1
"""

    assert read_instructions(text) == [
        (0, "FROM", "a AS build"),
        (0, "RUN", "one    && three"),
        (1, "FROM", "b"),
        (1, "USER", "1"),
    ]


@pytest.mark.parametrize(
    "page", [*WORKFLOWS, ROOT / ".pre-commit-config.yaml"], ids=lambda page: page.name
)
def test_automation_calls_targets_of_the_makefile(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    called = re.findall(r"(?:run|entry): make (?:--silent )?(\w+)", page.read_text("utf-8"))

    assert called
    assert set(called) <= targets


def test_every_supported_python_is_tested_on_three_systems() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")

    assert project["requires-python"] == f">={versions[0]}"
    assert f"python: {versions}".replace("'", '"') in workflow
    assert "os: [ubuntu-latest, macos-latest, windows-latest]" in workflow
