"""Two selectors as one, the first for a candidate's neighbours and the second for its page.

Han et al. 2021, "Modeling Context in Answer Sentence Selection Systems on a Latency Budget".

Axes: P pairs, L tokens of the input, E width.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.models.encoders.architectures import get_layers, read_states
from rejoinder.models.encoders.loading import drop_pooler
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.module.classifier import Classifier
from rejoinder.models.selector.module.multiway import HIDDEN_WIDTH
from rejoinder.models.selector.module.selector import Selector, SelectorConfig, multiply_sides
from rejoinder.models.selector.pair_reader import split_form

TUNED_LAYERS = 3


class Ensemble(nn.Module):
    """Two selectors as one: the first reads the neighbours, the second the page.

    Both are trained apart first.  Then the score is that of a feed-forward layer over both
    encodings, whose weights are new, and only the top three layers of the encoders are tuned.
    """

    def __init__(
        self, config: SelectorConfig, local: Selector | Classifier, page: Selector | Classifier
    ) -> None:
        super().__init__()
        self.config = config
        self.local, self.page = local.encoder, page.encoder
        self.has_sides = config.recipe == "cosine"
        """Whether an encoding has what a `Selector` compares, beside the first state."""
        width = self.local.config.hidden_size
        self.joint = nn.Linear((4 if self.has_sides else 2) * width, HIDDEN_WIDTH)
        self.relevance = nn.Linear(HIDDEN_WIDTH, 1)
        for encoder in (self.local, self.page):
            drop_pooler(encoder)
            encoder.requires_grad_(False)
            get_layers(encoder)[-TUNED_LAYERS:].requires_grad_(True)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        kinds: Tensor,
        page_ids: Tensor,
        page_mask: Tensor,
        page_kinds: Tensor,
    ) -> Tensor:
        """Return scores (P,) of inputs (P, L), one of neighbours and one of the page."""
        near = self._encode(self.local, ids, mask, kinds)
        page = self._encode(self.page, page_ids, page_mask, page_kinds)
        joined = self.joint(torch.cat([near, page], dim=1))
        score: Tensor = self.relevance(functional.gelu(joined)).squeeze(1)
        return score

    def get_new_parameters(self) -> list[nn.Parameter]:
        """Return the weights that do not start from a trained selector."""
        return [*self.joint.parameters(), *self.relevance.parameters()]

    def _encode(self, encoder: Any, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """Return the encodings of pairs, (P, E or 2E): what a score is read from."""
        states = read_states(encoder, ids, mask, kinds).float()
        if not self.has_sides:
            return states[:, 0]
        sides = multiply_sides(states, mask, kinds) * states.shape[2]  # about as large as a state
        return torch.cat([states[:, 0], sides], dim=1)


AnySelector = Selector | Classifier | Ensemble


def join_selectors(models: Sequence[AnySelector], context: ContextConfig) -> Ensemble:
    """Return an ensemble of two selectors, with the weights they have.

    Raises:
        InputError: they are not two, or do not read the contexts of an ensemble.
    """
    members = [deepcopy(model) for model in models if not isinstance(model, Ensemble)]
    expected = list(split_form(context))
    recipes = {member.config.recipe for member in members}
    if [member.config.context for member in members] != expected or len(recipes) > 1:
        raise InputError(
            "an ensemble begins with two selectors: the first trained with context local,"
            f" the second with context global, both by {context.similarity} and one recipe"
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Ensemble(replace(members[0].config, context=context), *members)
