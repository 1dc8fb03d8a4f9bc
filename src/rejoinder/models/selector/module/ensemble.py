"""Two selectors as one: the first reads the neighbours, the second the page (Han et al. 2021).

Both are trained apart first.  Then their encodings are joined: the score is the mean of theirs and
what one hidden layer makes of both encodings, which begins at zero; only the top three layers of
the encoders are tuned.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.errors import InputError
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.module.multi_way import HIDDEN_WIDTH
from rejoinder.models.selector.module.selector import Selector, SelectorConfig
from rejoinder.models.selector.pair_reader import split_form

TUNED_LAYERS = 3


class Ensemble(nn.Module):
    """Scores pairs with two encoders; their inputs differ in what stands around the pair."""

    def __init__(self, config: SelectorConfig, local: Selector, page: Selector) -> None:
        super().__init__()
        self.config = config
        self.local, self.page = local, page
        width = local.encoder.config.hidden_size
        self.hidden = nn.Linear(4 * width, HIDDEN_WIDTH)
        self.output = nn.Linear(HIDDEN_WIDTH, 1)
        nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)
        for member in (local, page):
            member.encoder.requires_grad_(False)
            member.encoder.encoder.layer[-TUNED_LAYERS:].requires_grad_(True)

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
        """Return the weights that do not begin with what was learnt before."""
        return [*self.hidden.parameters(), *self.output.parameters()]


AnySelector = Selector | Ensemble


def join_selectors(models: Sequence[AnySelector], context: ContextConfig) -> Ensemble:
    """Return an ensemble of two selectors, with the weights they have.

    Raises:
        InputError: they are not two, or do not read what an ensemble reads.
    """
    members = [deepcopy(model) for model in models if isinstance(model, Selector)]
    expected = list(split_form(context))
    if [member.config.context for member in members] != expected:
        raise InputError(
            "an ensemble begins with two selectors: the first trained with context local,"
            f" the second with context global, both by {context.similarity}"
        )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Ensemble(replace(members[0].config, context=context), *members)
