"""Process 0 of two that exchange tensors; a test is the other one (test_processes.py).

Usage: RANK=0 WORLD_SIZE=2 MASTER_ADDR=... MASTER_PORT=... python -m tests.training.peer
"""

import torch
from torch import nn

from rejoinder.training.devices import (
    check_same,
    choose_compute,
    compute_once,
    join_processes,
    sum_gradients,
    sum_over_processes,
)


def make_layers() -> nn.ModuleList:
    """Return three weights: both processes use the first, only one the second, none the third."""
    torch.manual_seed(0)
    return nn.ModuleList(nn.Linear(2, 1, bias=False) for _ in range(3))


def answer() -> None:
    """Take part in what the test does, in the same order; then leave before its last sum."""
    with join_processes(choose_compute("cpu", "fp32")):
        compute_once(lambda: {"steps": 3})
        check_same("the same data")
        check_same("the data of process 0")
        sum_over_processes([torch.tensor([1.0, 2.0]), torch.tensor([[3.0]])])
        layers = make_layers()
        loss = layers[0](torch.tensor([[1.0, 2.0]])).sum()
        loss.backward()
        sum_gradients(layers, loss.detach())
    with join_processes(choose_compute("cpu", "fp32")):
        raise SystemExit


if __name__ == "__main__":
    answer()
