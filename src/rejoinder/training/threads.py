"""How many cores torch may use."""

import torch


def use_threads(count: int | None) -> None:
    """Let torch use so many threads; None leaves its own choice."""
    if count is not None:
        torch.set_num_threads(count)
