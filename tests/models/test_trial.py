"""A network is opened in a child process before it is imported."""

import os
import sys
from pathlib import Path

import pytest

from rejoinder.errors import BundleError, InputError, MissingExtraError
from rejoinder.models import trial
from rejoinder.models.encoders.source import ImportOptions
from rejoinder.models.importing import import_model
from rejoinder.models.trial import try_in_child
from tests.security.networks import CAST, SUM, huge_at_run, make
from tests.security.tokenizers import write_tokenizer


def crash(options: ImportOptions, file: Path) -> None:
    os.abort()


def fill_memory(options: ImportOptions, file: Path) -> None:
    bytearray(20_000_000_000)


def refuse_file(options: ImportOptions, file: Path) -> None:
    raise InputError(f"{file.name}: holds nothing for {Path(options.to).name}")


def miss_extra(options: ImportOptions, file: Path) -> None:
    raise MissingExtraError("reading it", extra="encoders")


def succeed(options: ImportOptions, file: Path) -> None:
    print("noise")  # noqa: T201


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a folder with a network that can be imported."""
    source = tmp_path / "tiny"
    write_tokenizer(source)
    (source / "model.onnx").write_bytes(make(CAST, SUM).SerializeToString())
    return source


def attempt(name: str, source: Path) -> None:
    options = ImportOptions(str(source), source.parent / "bundle")
    try_in_child(f"{__name__}:{name}", options, source / "model.onnx")


def test_a_child_that_crashes_costs_the_import_alone(source: Path) -> None:
    with pytest.raises(BundleError, match=r"model\.onnx: ends the program that opens it"):
        attempt("crash", source)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
def test_memory_is_limited(source: Path) -> None:
    with pytest.raises(BundleError, match="or takes too much memory; use another model"):
        attempt("fill_memory", source)


def test_time_is_limited(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "MAX_SECONDS", 0.01)

    with pytest.raises(BundleError, match=r"model\.onnx: takes longer than 0\.01 s"):
        import_model(ImportOptions(str(source), source.parent / "bundle", kind="selector"))

    assert not (source.parent / "bundle").exists()


def test_errors_of_the_child_are_raised_here(source: Path) -> None:
    with pytest.raises(InputError, match=r"model\.onnx: holds nothing for bundle"):
        attempt("refuse_file", source)


@pytest.mark.parametrize("name", ["miss_extra", "succeed"])
def test_what_it_opens_may_be_imported(source: Path, name: str) -> None:
    attempt(name, source)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory")
def test_a_network_that_asks_for_all_memory_is_not_imported(source: Path) -> None:
    (source / "model.onnx").write_bytes(huge_at_run().SerializeToString())

    with pytest.raises(BundleError, match=r"model\.onnx cannot be run|too much memory"):
        import_model(ImportOptions(str(source), source.parent / "bundle", kind="selector"))

    assert not (source.parent / "bundle").exists()


def test_a_network_that_passes_is_imported(source: Path) -> None:
    manifest = import_model(ImportOptions(str(source), source.parent / "bundle", kind="selector"))

    assert manifest.training["from"] == "tiny"
