"""Averages the weights of two selectors, so that a fine-tuned one forgets less of its start.

Wortsman et al. 2022, "Robust fine-tuning of zero-shot models": weights between those of the start
and of the fine-tuned network often keep the gain on the new task, and lose less on the old one.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from rejoinder.bundle.folder import Manifest, check_place, open_bundle
from rejoinder.errors import InputError
from rejoinder.models.registry import find_bundle
from rejoinder.models.selector.agreement import make_sample
from rejoinder.models.selector.export import reopen_selector, write_selector
from rejoinder.models.selector.module.selector import Selector, add_context


def average_selectors(
    trained: str | Path, start: str | Path, *, share: float, to: Path | str, command: str = ""
) -> Manifest:
    """Write a selector whose weights are the average of two.

    Args:
        trained: the bundle of a selector that was trained from `start`; it keeps its context.
        start: a bundle, or the name of a shipped one.
        share: the share of `start` in the average, from 0 to 1.

    Raises:
        InputError: the share is out of range, or the networks differ.
        BundleError: a bundle cannot be read or written.
    """
    if not 0 <= share <= 1:
        raise InputError(f"share cannot be {share}; it is from 0 to 1")
    folder = Path(to)
    check_place(folder)
    model, tokenizer = reopen_selector(find_bundle(trained))
    other, _ = reopen_selector(find_bundle(start))
    if not isinstance(model, Selector) or not isinstance(other, Selector):
        raise InputError("only selectors with one encoder, and of the recipe cosine, are averaged")
    if other.config.context.form == "none":
        other = add_context(other, model.config.context)
    model.load_state_dict(mix(model.state_dict(), other.state_dict(), share))
    manifest = open_bundle(find_bundle(trained)).manifest
    write_selector(
        folder,
        model,
        tokenizer,
        precision=manifest.precision,
        training={
            "averaged": {"trained": str(trained), "start": str(start), "share": share},
            "trained": dict(manifest.training),
            **({"command": command} if command else {}),
        },
        sample=make_sample(),
    )
    return open_bundle(folder).manifest


def mix(
    trained: Mapping[str, Tensor], start: Mapping[str, Tensor], share: float
) -> dict[str, Tensor]:
    """Return the average of two networks' weights; `share` is that of the second.

    >>> one, other = {"weight": torch.tensor([1.0])}, {"weight": torch.tensor([3.0])}
    >>> mix(one, other, 0.25)["weight"].tolist()
    [1.5]
    """
    shapes = ({name: tuple(value.shape) for name, value in own.items()} for own in (trained, start))
    if next(shapes) != next(shapes):
        raise InputError("the two selectors have different networks; average one with its start")
    return {
        name: torch.lerp(value, start[name], share) if value.is_floating_point() else value
        for name, value in trained.items()
    }
