"""Multi-way attention: the question reads the candidate, the neighbours and the page apart.

Han et al. 2021 after Tan et al. 2018, "Multiway Attention Networks for Modeling Sentence Pairs",
whose four attention functions are here, and its weighted sum of what all four read.  The reference
aggregates by recurrent layers; here the encoder's states are read in their place.

Axes: P pairs, L tokens of the input, Q tokens of the question, N tokens or vectors of a part,
E width, A attention width.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.models.selector.pair_reader import CANDIDATE, LOCAL, PAGE, QUESTION

HIDDEN_WIDTH = 128
ATTENTION_WIDTH = 64
PARTS = (CANDIDATE, LOCAL, PAGE)
MASKED = -1e9
"""Added to attention scores outside of a part."""
WEIGHED = ("mixed_weight", "mixed_output")
"""The weights by which `mixed` weighs what the functions read."""


class MultiWay(nn.Module):
    """Scores by what the tokens of the question read of each part.

    Each token attends to the tokens of one part at a time.  The attended states of each part,
    averaged over the question, and their product with the question's own mean state, go through
    one hidden layer.
    """

    def __init__(self, width: int, vector_width: int = 0, attention: str = "scaled") -> None:
        super().__init__()
        self.functions = list_functions(attention)
        for name in self.list_weights():
            weight = torch.empty(len(PARTS), *_get_shape(name, width))
            setattr(self, name, nn.Parameter(_start(name, weight)))
        self.project = nn.Linear(vector_width, width) if vector_width else None
        self.hidden = nn.Linear(7 * width, HIDDEN_WIDTH)
        self.output = nn.Linear(HIDDEN_WIDTH, 1)
        nn.init.zeros_(self.output.weight)  # scores start unchanged
        nn.init.zeros_(self.output.bias)
        self.dropout = nn.Dropout(0.1)

    def list_weights(self) -> list[str]:
        """Return the names of the weights of all functions, each with an axis of parts."""
        names = [name for function in self.functions.values() for name in function.weights]
        return [*names, *(WEIGHED if len(self.functions) > 1 else ())]

    def forward(
        self,
        states: Tensor,
        mask: Tensor,
        kinds: Tensor,
        near: Tensor | None = None,
        page: Tensor | None = None,
    ) -> Tensor:
        """Return the addition to the scores, (P,); near and page are vectors (P, N, D)."""
        parts = [(states, mask * (kinds == kind)) for kind in PARTS]
        if self.project is not None:
            assert near is not None, "the neighbours come as vectors"
            assert page is not None, "the page comes as vectors"
            parts[1:] = [self._to_part(near), self._to_part(page)]
        is_question = mask * (kinds == QUESTION)
        question = take_mean(states, is_question)
        count = _count_tokens(is_question)
        asked, is_asked = states[:, :count], is_question[:, :count]
        read = [
            take_mean(self._read(number, asked, *part), is_asked)
            for number, part in enumerate(parts)
        ]
        joined = torch.cat([question, *read, *(question * part for part in read)], dim=1)
        score: Tensor = self.output(self.dropout(functional.gelu(self.hidden(joined)))).squeeze(1)
        return score

    def _read(self, number: int, question: Tensor, states: Tensor, mask: Tensor) -> Tensor:
        """Return what the question reads of a part, (P, Q, E); zeros where it is empty."""
        there = mask.float()[:, None, :]  # (P, 1, N)
        read = []
        for function in self.functions.values():
            weights = [getattr(self, name)[number] for name in function.weights]
            alike = function.compare(question, states, *weights)  # (P, Q, N)
            shares = torch.softmax(alike.float() + (1 - there) * MASKED, dim=2) * there
            read.append((shares @ states).float())
        return read[0] if len(read) == 1 else self._mix(number, torch.stack(read))

    def _mix(self, number: int, read: Tensor) -> Tensor:
        """Return the weighted sum (P, Q, E) of what several functions read."""
        weight, output = (getattr(self, name)[number] for name in WEIGHED)
        shares = torch.softmax(torch.tanh(read @ weight) @ output, dim=0)  # (functions, P, Q)
        return (shares[..., None] * read).sum(dim=0)

    def _to_part(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors as states, and their mask: zeros are padding."""
        assert self.project is not None, "only vectors are projected"
        # Vectors have length 1, states about the square root of their width.
        states = self.project(vectors * vectors.shape[2] ** 0.5).float()
        return states, (vectors != 0).any(dim=2)


class Function(NamedTuple):
    """How alike a token of the question and one of a part are, before the softmax."""

    compare: Callable[..., Tensor]
    """Returns (P, Q, N) of question (P, Q, E), states (P, N, E) and the weights of a part."""
    weights: Sequence[str]


def compare_scaled(question: Tensor, states: Tensor, scales: Tensor) -> Tensor:
    """Return the dot products with one learnt weight per dimension, over the root of the width."""
    alike: Tensor = (question * scales) @ states.transpose(1, 2) / states.shape[2] ** 0.5
    return alike


def compare_concat(
    question: Tensor, states: Tensor, to_question: Tensor, to_part: Tensor, output: Tensor
) -> Tensor:
    """Return output · tanh(to_question q + to_part h)."""
    joined = (question @ to_question)[:, :, None] + (states @ to_part)[:, None]
    return torch.tanh(joined) @ output


def compare_bilinear(question: Tensor, states: Tensor, weight: Tensor) -> Tensor:
    """Return q weight h."""
    return question @ weight @ states.transpose(1, 2)


def compare_dot(question: Tensor, states: Tensor, weight: Tensor, output: Tensor) -> Tensor:
    """Return output · tanh(weight (q ∘ h))."""
    scaled = question[:, :, None] * weight.T  # (P, Q, A, E): smaller than all products of tokens
    products = scaled.flatten(1, 2) @ states.transpose(1, 2)  # (P, QA, N)
    by_token = products.unflatten(1, (-1, weight.shape[1])).transpose(2, 3)
    return torch.tanh(by_token) @ output


def compare_minus(question: Tensor, states: Tensor, weight: Tensor, output: Tensor) -> Tensor:
    """Return output · tanh(weight (q - h))."""
    return compare_concat(question, states, weight, -weight, output)


FUNCTIONS: Mapping[str, Function] = {
    "scaled": Function(compare_scaled, ("scales",)),
    "concat": Function(compare_concat, ("concat_question", "concat_part", "concat_output")),
    "bilinear": Function(compare_bilinear, ("bilinear",)),
    "dot": Function(compare_dot, ("dot_weight", "dot_output")),
    "minus": Function(compare_minus, ("minus_weight", "minus_output")),
}
"""By the name of a context's `attention`; the names of weights are those in a bundle."""


def list_functions(attention: str) -> dict[str, Function]:
    """Return the functions of a context's `attention`; `mixed` has the four of the reference."""
    names = (
        [name for name in FUNCTIONS if name != "scaled"] if attention == "mixed" else [attention]
    )
    return {name: FUNCTIONS[name] for name in names}


def take_mean(states: Tensor, weights: Tensor) -> Tensor:
    """Return the mean of the states (P, L, E) that have a weight of 1, (P, E)."""
    counts = weights.float()[:, :, None]  # (P, L, 1)
    return (states * counts).sum(dim=1) / counts.sum(dim=1).clamp(min=1.0)


def _get_shape(name: str, width: int) -> tuple[int, ...]:
    """Return the shape of a function's weights of one part."""
    if name in ("scales", "bilinear"):
        return (width,) if name == "scales" else (width, width)
    return (ATTENTION_WIDTH,) if name.endswith("_output") else (width, ATTENTION_WIDTH)


def _start(name: str, weight: Tensor) -> Tensor:
    """Fill a function's weights; those of `scaled` and `bilinear` start as the same product."""
    if name == "scales":
        return nn.init.ones_(weight)
    if name != "bilinear":
        return nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
    for part in weight:
        nn.init.eye_(part).div_(len(part) ** 0.5)
    return weight


def _count_tokens(is_question: Tensor) -> int:
    """Return the tokens of the longest question, which is always first in the input."""
    if torch.compiler.is_exporting():  # the number may not depend on the input
        return is_question.shape[1]
    return int(is_question.sum(dim=1).max())
