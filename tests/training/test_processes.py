"""Several processes, which torchrun really starts; here they exchange gradients by gloo."""

import json
import os
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402
from torch import distributed  # noqa: E402

from rejoinder.bundle.folder import open_bundle  # noqa: E402
from rejoinder.errors import InputError, TrainingError  # noqa: E402
from rejoinder.training.devices import (  # noqa: E402
    Compute,
    check_same,
    choose_compute,
    compute_once,
    fails_first,
    join_processes,
    need_one_process,
    sum_gradients,
    sum_over_processes,
    take_share,
)
from tests.training.peer import make_layers  # noqa: E402
from tests.training.train_in_processes import train  # noqa: E402

LAUNCH = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]


def launch(*arguments: str | Path, cwd: Path) -> "subprocess.CompletedProcess[str]":
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*LAUNCH, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def write_questions(path: Path, words: list[str]) -> Path:
    lines = [
        {
            "question": f"where is the {word}?",
            "candidates": [
                {"text": "it rained in winter", "label": 0, "position": 0},
                {"text": f"the {word} is here", "label": 1, "position": 1},
            ],
        }
        for word in words
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_two_processes_take_the_steps_of_one(tmp_path: Path) -> None:
    train(tmp_path)
    (tmp_path / "checkpoint").unlink()

    result = launch("-m", "tests.training.train_in_processes", tmp_path, cwd=tmp_path)

    assert result.returncode == 0, result.stderr
    one, first, second = (
        load_file(tmp_path / f"{name}.safetensors") for name in ("1-0", "2-0", "2-1")
    )
    for name, weight in one.items():
        assert torch.equal(first[name], second[name])
        if "key.bias" not in name:  # a softmax cancels it: Adam steps by the sign of rounding
            torch.testing.assert_close(first[name], weight, atol=2e-5, rtol=0)


def test_one_process_writes_and_prints(tmp_path: Path) -> None:
    write_questions(tmp_path / "mine.jsonl", ["ice", "cave", "rock"])
    options = ("mine.jsonl", "--dev", "mine.jsonl", "--to", "m", "--questions-per-step", "1")

    result = launch("-m", "rejoinder", "train", "cosinet", *options, cwd=tmp_path)

    assert result.returncode == 0, result.stderr
    assert result.stdout.count("wrote m:") == result.stdout.count("MAP") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "mine.jsonl"]
    training = open_bundle(tmp_path / "m").manifest.training
    assert (training["processes"], training["steps"], training["device"]) == (2, 9, "cpu")


def test_a_failure_of_one_process_ends_all_with_one_message(tmp_path: Path) -> None:
    for rank, words in enumerate((["ice", "cave"], ["ice", "cave", "rock"])):
        write_questions(tmp_path / f"{rank}.jsonl", words)
    command = f"exec {sys.executable} -m rejoinder train cosinet $RANK.jsonl --to m"

    result = launch("--no-python", "sh", "-c", command, cwd=tmp_path)

    assert result.returncode != 0
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert "process 1 has other data, weights or checkpoints than process 0" in errors[0]
    assert not (tmp_path / "m").exists()


def test_some_work_is_refused_in_several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    need_one_process("distil")
    monkeypatch.setenv("WORLD_SIZE", "2")

    with pytest.raises(InputError, match="distil runs in one process; start it without torchrun"):
        need_one_process("distil")
    with (
        pytest.raises(InputError, match="--device mps runs in one process"),
        join_processes(Compute(torch.device("mps"), torch.float32)),
    ):
        pass


def set_place(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    """Set what torchrun sets for process 1 of 2."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    for name, value in {**place, "WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_two_processes_exchange_values_and_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    set_place(monkeypatch, find_free_port())
    root = Path(__file__).parents[2]
    environment = {**os.environ, "RANK": "0", "PYTHONPATH": f"{root / 'src'}:{root}"}
    peer = subprocess.Popen([sys.executable, "-m", "tests.training.peer"], env=environment)
    host = choose_compute("cpu", "fp32")
    try:
        with join_processes(host):
            assert take_share(torch.arange(5)).tolist() == [3, 4]
            assert compute_once(lambda: pytest.fail("only process 0 computes")) == {"steps": 3}
            check_same("the same data")
            with pytest.raises(TrainingError, match="process 1 has other data"):
                check_same("other data")

            sums = [torch.tensor([10.0, 20.0]), torch.tensor([[30.0]])]
            sum_over_processes([])  # nothing: not even an exchange
            sum_over_processes(sums)
            assert [item.tolist() for item in sums] == [[11.0, 22.0], [[33.0]]]

            layers = make_layers()
            loss = sum(layer(torch.tensor([[10.0, 20.0]])).sum() for layer in layers[:2])
            loss.backward()
            alone = loss.item()
            sum_gradients(layers, loss := loss.detach())
            assert layers[0].weight.grad.tolist() == [[11.0, 22.0]]
            assert layers[1].weight.grad.tolist() == [[10.0, 20.0]]
            assert layers[2].weight.grad is None
            theirs = (make_layers()[0].weight @ torch.tensor([1.0, 2.0])).item()
            assert loss.item() == pytest.approx(alone + theirs)
        assert not distributed.is_initialized()

        with join_processes(host):
            assert peer.wait(60) == 0
            with pytest.raises(TrainingError, match="another process of this training failed"):
                sum_over_processes([torch.ones(1)])
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert distributed.is_initialized()  # a failure does not wait for the others
    finally:
        peer.kill()
        peer.wait()
        if distributed.is_initialized():
            distributed.destroy_process_group()


def test_only_the_first_process_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (fails_first(), fails_first()) == (True, True)  # one process
    store = distributed.TCPStore(  # type: ignore[attr-defined]
        "127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=5)
    )
    set_place(monkeypatch, store.port)

    assert [fails_first() for _ in range(3)] == [True, False, False]
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert [fails_first() for _ in range(2)] == [True, False]
