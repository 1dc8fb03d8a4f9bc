"""The benchmark of the machine's limits, over a small index."""

import ctypes
import json
import platform
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import limits
from benchmarks.machine_limits import Limits, Work, compile_library

from rejoinder.index.index import Index
from rejoinder.models.selector.agreement import QUESTIONS, SENTENCES
from rejoinder.types import to_candidates

COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(
    platform.machine() != "x86_64" or not COMPILER, reason="needs a C compiler for x86-64"
)
COPIES = 20


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """An index in which every sentence has a document of its own below a heading."""
    folder = tmp_path_factory.mktemp("limits")
    for number, text in enumerate(SENTENCES * COPIES):
        page = f"# Travel {number}\n\n## By water\n\n{text} It is number {number}.\n"
        (folder / f"{number}.md").write_text(page, encoding="utf-8")
    with Index(folder / "index", create=True) as index:
        index.add([folder])
    questions = folder / "questions.txt"
    questions.write_text("\n\n".join(QUESTIONS[:2]), encoding="utf-8")
    return ["--index", str(folder / "index"), "--questions", str(questions)]


def run(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> dict[str, Any]:
    monkeypatch.setattr(sys, "argv", ["limits", *arguments, "--threads", "1", "--rounds", "1"])
    limits.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


@needs_compiler
def test_peaks_products_and_stages_are_measured(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(arguments, monkeypatch, capsys)

    (machine,) = result["machine_limits"]
    peaks = machine["peak_gops"]
    assert list(peaks) == ["int8", "int16", "bf16", "fp32"]
    # Other processes slow measurements down, so bounds are wide.
    assert all(1 < peak < 10_000 for peak in peaks.values() if peak is not None)
    assert 0.5 < machine["bandwidth_gb"] < 1_000
    assert [item["shape"] for item in machine["products"][:2]] == [
        "48 x 384 x 1152",
        "48 x 384 x 384",
    ]
    assert len(machine["products"]) == 8
    for product in machine["products"]:
        assert set(product["gops"]) | set(product["left_out"]) == {"int8", "bf16", "fp32"}
        assert not set(product["gops"]) & set(product["left_out"])
        assert ("bf16" in product["gops"]) == (peaks["bf16"] is not None)
        assert min(product["gops"].values()) > 1
        assert set(product["share_of_peak"]) == set(product["gops"])
        assert min(product["share_of_peak"].values()) > 0
    *stages, rest, answer = result["stages"]
    assert [stage["stage"] for stage in stages] == ["words", "vectors", "cosinet", "selector"]
    words, vectors, cosinet, selector = stages
    assert words["sentences"] == vectors["sentences"] >= len(SENTENCES) * COPIES
    assert words["operations"]["entries"] > 100
    assert 1.2 < words["entry_bytes"] < 12
    assert 2 < cosinet["candidates"] <= 100
    assert selector["candidates"] == 14
    # With the question, the sentences, the title and the headings.
    assert selector["mean_tokens"] > cosinet["mean_tokens"] + 10
    for stage in stages:
        assert stage["floor_ms"] == max(stage["compute_ms"], stage["memory_ms"]) > 0
        assert stage["share_of_peak"] == pytest.approx(
            stage["floor_ms"] / stage["measured_ms"], abs=0.01
        )
        assert 0 < stage["share_of_peak"] < 3
    assert rest["operations"] is rest["floor_ms"] is rest["share_of_peak"] is None
    parts = [stage["measured_ms"] for stage in (*stages, rest)]
    assert answer["measured_ms"] == pytest.approx(sum(parts), abs=0.01)
    assert answer["floor_ms"] == pytest.approx(sum(item["floor_ms"] for item in stages), abs=0.01)


def test_limits_are_null_without_a_compiler(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")

    result = run(arguments, monkeypatch, capsys)

    (machine,) = result["machine_limits"]
    assert set(machine["peak_gops"].values()) == {machine["bandwidth_gb"]} == {None}
    assert machine["products"] == []
    assert all(stage["floor_ms"] is stage["share_of_peak"] is None for stage in result["stages"])
    assert all(stage["measured_ms"] > 0 for stage in result["stages"] if stage["stage"] != "rest")


@pytest.mark.parametrize(
    "given",
    [
        [],
        ["--data", "d"],
        ["--index", "i"],
        ["--questions", "q", "--cache", "c"],
        ["--index", "i", "--questions", "q", "--cache", "c"],
    ],
)
def test_an_index_needs_questions_and_a_cache_has_its_own(
    given: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(given, monkeypatch, capsys)

    assert "give --index with --questions, or --cache with --data" in capsys.readouterr().err


@needs_compiler
@pytest.mark.parametrize("is_residual", [0, 1])
def test_the_product_in_bf16_is_one(is_residual: int, tmp_path: Path) -> None:
    library = compile_library(tmp_path)
    assert library is not None
    rng = np.random.default_rng(0)
    rows, depth, columns = 12, 10, 128
    left, right = (to_bf16(rng.normal(size=size)) for size in ((rows, depth), (depth, columns)))
    bias = rng.normal(size=columns).astype(np.float32)
    before = rng.normal(size=(rows, columns)).astype(np.float32)
    out = before.copy()
    # (depth / 2, 2, panels, columns of a panel) to (panels, depth / 2, columns of a panel, 2)
    panels = np.ascontiguousarray(right.reshape(depth // 2, 2, -1, 64).transpose(2, 0, 3, 1))

    done = library.multiply_in_bf16(
        *(left.ctypes.data_as(ctypes.c_void_p), *map(ctypes.c_int64, (rows, depth))),
        *(panels.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(columns)),
        *(bias.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(is_residual)),
        out.ctypes.data_as(ctypes.c_void_p),
    )

    expected = to_floats(left) @ to_floats(right) + bias + is_residual * before
    assert done == library.has_bf16()
    np.testing.assert_allclose(out, expected if done else before, rtol=1e-5, atol=1e-5)


def to_bf16(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint16]]:
    return np.ascontiguousarray(numbers.astype("<f4").view("<u2")[..., 1::2])


def to_floats(halves: np.ndarray[Any, np.dtype[np.uint16]]) -> np.ndarray[Any, Any]:
    return (halves.astype("<u4") << 16).view("<f4")


def test_the_selector_needs_its_products_and_each_weight_once() -> None:
    config = {"bert": {"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 32}}

    work = limits.count_selector([3, 5], config)

    weights = 2 * (4 * 8 * 8 + 2 * 8 * 32)
    assert work.operations["int8"] == 2 * (3 + 5) * weights
    assert work.operations["int16"] == 2 * 2 * 2 * (3 * 3 + 5 * 5) * 8
    assert work.bytes == weights + (3 + 5) * 8
    assert work.mean_tokens == 4


def test_cosinet_reads_the_rows_of_distinct_words_once() -> None:
    once = limits.count_cosinet("tea", to_candidates(["hot tea", "hot milk"]))
    again = limits.count_cosinet("tea", to_candidates(["hot tea", "hot milk", "tea milk"]))

    assert once.bytes == again.bytes == 3 * 4 * (5 * 300 + 256)
    assert once.operations["fp32"] < again.operations["fp32"]
    assert again.mean_tokens == 2


def test_a_vector_search_reads_all_bits_and_the_numbers_of_few_rows() -> None:
    few, many = limits.count_vectors(50, 256), limits.count_vectors(1_000_000, 256)

    rotation = 256 * 256
    assert few.bytes == 50 * (32 + 8 + 256 + 4) + 4 * rotation
    assert few.operations == {"bits": 50 * 256 * 3, "fp32": 2 * (50 * 256 + rotation)}
    assert 40_000_000 < many.bytes < 64_000_000


def test_the_floor_is_the_larger_of_both_times() -> None:
    machine = Limits({"int8": 1e9, "fp32": 0.0}, 1e9)

    by_products = machine.get_floor(Work({"int8": 4_000_000}, 1_000_000, 1), 2)
    unknown = machine.get_floor(Work({"fp32": 1}, 1, 1), 1)
    by_bytes = machine.get_floor(Work({"bits": 10**12}, 3_000_000), 1)

    assert by_products == {"compute_ms": 2.0, "memory_ms": 0.5, "floor_ms": 2.0}
    assert set(unknown.values()) == {None}
    assert by_bytes == {"compute_ms": 0.0, "memory_ms": 3.0, "floor_ms": 3.0}
