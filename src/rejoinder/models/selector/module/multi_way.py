"""Multi-way attention: the question reads the candidate, the neighbours and the page apart.

Han et al. 2021 (context) after Tan et al. 2018, "Multiway Attention Networks for Modeling Sentence
Pairs".  Each token of the question attends to the tokens of one part at a time; attention is
the dot product with one learnt weight per dimension and part.  What it read of each part, on
average over the question, and its product with the question's own mean state, go through one
hidden layer.  The output begins at zero: before its first step a selector scores as it
would without.

Axes: P pairs, L tokens of the input, N tokens or vectors of a part, E width.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.models.selector.tokens import CANDIDATE, LOCAL, PAGE, QUESTION

HIDDEN_WIDTH = 128
HIDDEN = -1e9
"""Added to attention on what is not part of it."""


class MultiWay(nn.Module):
    """Adds to a score what the question finds in each part."""

    def __init__(self, width: int, vector_width: int = 0) -> None:
        """Get ready.

        Args:
            vector_width: of the vectors that neighbours and page come as; 0 where as tokens.
        """
        super().__init__()
        self.scales = nn.Parameter(torch.ones(3, width))
        self.project = nn.Linear(vector_width, width) if vector_width else None
        self.hidden = nn.Linear(7 * width, HIDDEN_WIDTH)
        self.output = nn.Linear(HIDDEN_WIDTH, 1)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)
        self.dropout = nn.Dropout(0.1)

    def forward(
        self,
        states: Tensor,
        mask: Tensor,
        kinds: Tensor,
        near: Tensor | None = None,
        page: Tensor | None = None,
    ) -> Tensor:
        """Return what to add to the scores, (P,); near and page are vectors (P, N, D)."""
        parts = [(states, mask * (kinds == kind)) for kind in (CANDIDATE, LOCAL, PAGE)]
        if self.project is not None:
            assert near is not None, "the neighbours come as vectors"
            assert page is not None, "the page comes as vectors"
            parts[1:] = [self._to_part(near), self._to_part(page)]
        asked = mask * (kinds == QUESTION)
        question = take_mean(states, asked)
        read = [
            take_mean(_attend(states * scale, *part), asked)
            for scale, part in zip(self.scales, parts, strict=True)
        ]
        joined = torch.cat([question, *read, *(question * part for part in read)], dim=1)
        score: Tensor = self.output(self.dropout(functional.gelu(self.hidden(joined)))).squeeze(1)
        return score

    def _to_part(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors as states, and where there is one: zeros are none."""
        assert self.project is not None, "only vectors are projected"
        # Vectors have length 1, states about the square root of their width.
        states = self.project(vectors * vectors.shape[2] ** 0.5).float()
        return states, (vectors != 0).any(dim=2)


def take_mean(states: Tensor, weights: Tensor) -> Tensor:
    """Return the mean of the states (P, L, E) that have a weight of 1, (P, E)."""
    counts = weights.float()[:, :, None]  # (P, L, 1)
    return (states * counts).sum(dim=1) / counts.sum(dim=1).clamp(min=1.0)


def _attend(asking: Tensor, states: Tensor, mask: Tensor) -> Tensor:
    """Return what each asking state reads of a part, (P, L, E); zeros where it is empty."""
    there = mask.float()[:, None, :]  # (P, 1, N)
    alike = asking @ states.transpose(1, 2) / states.shape[2] ** 0.5  # (P, L, N)
    weights = torch.softmax(alike.float() + (1 - there) * HIDDEN, dim=2) * there
    return (weights @ states).float()
