"""What an imported cross-encoder's bundle says about itself; without torch."""

from collections.abc import Mapping
from typing import Any

from rejoinder.errors import InputError
from rejoinder.models.encoders.source import ImportOptions
from rejoinder.models.selector.scorer import ACTIVATIONS

STATED = ("activation_fn", "sbert_ce_default_activation_function")
"""Where a config.json names the activation, also within `sentence_transformers`."""


def find_activation(config: Mapping[str, Any], name: str) -> str:
    """Return the activation of a cross-encoder: what its config.json says, else none.

    Raises:
        InputError: it has another activation than those of `ACTIVATIONS`.
    """
    inner = config.get("sentence_transformers")
    places = [inner if isinstance(inner, dict) else {}, config]
    stated = next((str(place[key]) for place in places for key in STATED if place.get(key)), "")
    activation = stated.rpartition(".")[2].lower() or "identity"
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise InputError(f"{name}: its activation {stated} is not supported; supported: {known}")
    return activation


def describe_training(options: ImportOptions, command: str) -> dict[str, Any]:
    """Return where an imported bundle comes from, for its manifest."""
    return {"from": options.name, "data": "none: imported as it is", "command": command}


def make_card(options: ImportOptions, precision: str, activation: str, max_tokens: int) -> bytes:
    """Return the bundle's README.md."""
    return f"""# {options.name} as a selector

A cross-encoder that was imported with its own head: `rejoinder rank QUESTION FILE --scorer THIS`.

- **Network**: {options.name}, {precision}; it reads {max_tokens} tokens of a pair.
- **Score**: the output of its head, activation: {activation}.
- **Licence of the weights**: {options.licence or "see the model's own card"}
""".encode()
