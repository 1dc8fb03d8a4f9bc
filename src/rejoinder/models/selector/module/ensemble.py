"""Two selectors as one, the first for a candidate's neighbours and the second for its page.

Han et al. 2021, "Modeling Context in Answer Sentence Selection Systems on a Latency Budget".

Axes: P pairs, L tokens of the input, E width.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.models.encoders.architectures import get_layers
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.module.classifier import Classifier
from rejoinder.models.selector.module.selector import (
    HIDDEN_WIDTH,
    Selector,
    SelectorConfig,
    make_output,
)
from rejoinder.models.selector.pair_reader import split_form

TUNED_LAYERS = 3


class Ensemble(nn.Module):
    """Two selectors as one: the first reads the neighbours, the second the page.

    Both are trained apart first.  Then their encodings are joined: the score is the mean of
    theirs plus the output of one hidden layer over both encodings, which starts at zero; only
    the top three layers of the encoders are tuned.
    """

    def __init__(self, config: SelectorConfig, local: Selector, page: Selector) -> None:
        super().__init__()
        self.config = config
        self.local, self.page = local, page
        width = local.encoder.config.hidden_size
        self.hidden = nn.Linear(4 * width, HIDDEN_WIDTH)
        self.output = make_output()
        for member in (local, page):
            member.encoder.requires_grad_(False)
            get_layers(member.encoder)[-TUNED_LAYERS:].requires_grad_(True)

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
        judged = [
            self.local.judge(self.local.read(ids, mask, kinds), mask, kinds),
            self.page.judge(self.page.read(page_ids, page_mask, page_kinds), page_mask, page_kinds),
        ]
        joined = torch.cat([encoding for _, encoding in judged], dim=1)  # (P, 4E)
        more = self.output(functional.gelu(self.hidden(joined))).squeeze(1)
        score: Tensor = (judged[0][0] + judged[1][0]) / 2 + more
        return score

    def get_new_parameters(self) -> list[nn.Parameter]:
        """Return the weights that do not start from a trained selector."""
        return [*self.hidden.parameters(), *self.output.parameters()]


AnySelector = Selector | Classifier | Ensemble


def join_selectors(models: Sequence[AnySelector], context: ContextConfig) -> Ensemble:
    """Return an ensemble of two selectors, with the weights they have.

    Raises:
        InputError: they are not two, or do not read the contexts of an ensemble.
    """
    members = [deepcopy(model) for model in models if isinstance(model, Selector)]
    expected = list(split_form(context))
    if [member.config.context for member in members] != expected:
        raise InputError(
            "an ensemble begins with two selectors: the first trained with context local,"
            f" the second with context global, both by {context.similarity}"
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Ensemble(replace(members[0].config, context=context), *members)
