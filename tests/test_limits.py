"""The benchmark of the machine's limits, with few candidates."""

import json
import platform
import shutil
import sys
from typing import Any

import pytest
from benchmarks import limits

from rejoinder.types import to_candidates

OPTIONS = ["--threads", "1", "--rounds", "1", "--candidates", "20", "--pairs", "2"]


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    monkeypatch.setattr(sys, "argv", ["limits", *OPTIONS])
    limits.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not (shutil.which("cc") or shutil.which("gcc")),
    reason="needs a C compiler for x86-64",
)
def test_peaks_products_and_stages_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(monkeypatch, capsys)

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
    assert all(item["gops"]["int8"] > 1 < item["gops"]["fp32"] for item in machine["products"])
    cosinet, selector = result["stages"]
    assert (cosinet["stage"], cosinet["candidates"]) == ("cosinet", 20)
    assert (selector["stage"], selector["candidates"]) == ("selector", 2)
    for stage in (cosinet, selector):
        assert stage["floor_ms"] == max(stage["compute_ms"], stage["memory_ms"]) > 0
        assert stage["share_of_peak"] == pytest.approx(
            stage["floor_ms"] / stage["measured_ms"], abs=0.01
        )
        assert 0 < stage["share_of_peak"] < 3


def test_limits_are_null_without_a_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")

    result = run(monkeypatch, capsys)

    (machine,) = result["machine_limits"]
    assert set(machine["peak_gops"].values()) == {machine["bandwidth_gb"]} == {None}
    assert machine["products"] == []
    assert all(stage["floor_ms"] is stage["share_of_peak"] is None for stage in result["stages"])
    assert all(stage["measured_ms"] > 0 for stage in result["stages"])


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


def test_the_floor_is_the_larger_of_both_times() -> None:
    machine = limits.Limits({"int8": 1e9, "fp32": 0.0}, 1e9)

    by_products = machine.get_floor(limits.Work({"int8": 4_000_000}, 1_000_000, 1), 2)
    unknown = machine.get_floor(limits.Work({"fp32": 1}, 1, 1), 1)

    assert by_products == {"compute_ms": 2.0, "memory_ms": 0.5, "floor_ms": 2.0}
    assert set(unknown.values()) == {None}
