"""A cross-encoder as the papers fine-tune it: the architecture's own head gives the score.

The head of a fine-tuned cross-encoder is kept; that of a plain encoder is new.  Context is read as
by a `Selector`: as more tokens, or by multi-way attention besides.

Axes: P pairs, L tokens of the input, E width.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from rejoinder.models.encoders.architectures import is_packed, name_inputs, read_states
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.module.multiway import MultiWay
from rejoinder.models.selector.module.selector import SelectorConfig, copy_for_context


class Classifier(nn.Module):
    """Scores pairs by a model `ForSequenceClassification` with one label."""

    def __init__(self, config: SelectorConfig, model: Any) -> None:
        super().__init__()
        self.config = config
        self.model = model
        context = config.context
        self.ways: MultiWay | None = None
        if context.is_multi_way:
            width = model.config.hidden_size
            self.ways = MultiWay(width, context.vector_width, context.attention)

    @property
    def encoder(self) -> Any:
        """The encoder under the head."""
        return self.model.base_model

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        kinds: Tensor,
        near: Tensor | None = None,
        page: Tensor | None = None,
    ) -> Tensor:
        """Return scores (P,) of inputs (P, L); the mask is 1 where there is a token."""
        if is_packed(self.encoder):
            states = read_states(self.encoder, ids, mask, kinds)
            logits = self._judge(states)
        else:
            given = name_inputs(self.encoder, ids, mask, kinds)
            read = self.model(**given, output_hidden_states=self.ways is not None)
            states, logits = read.hidden_states and read.hidden_states[-1], read.logits
        score: Tensor = logits.float().squeeze(1)
        if self.ways is None:
            return score
        return score + self.ways(states.float(), mask, kinds, near, page)

    def get_new_parameters(self) -> list[nn.Parameter]:
        """Return the weights of multi-way attention: the head learns at the encoder's rate."""
        return [] if self.ways is None else list(self.ways.parameters())

    def _judge(self, states: Tensor) -> Any:
        """Return the head's logits (P, 1) of the encoder's states."""
        pooler = getattr(self.encoder, "pooler", None)
        if pooler is None:  # the head takes the first state itself
            return self.model.classifier(states)
        return self.model.classifier(self.model.dropout(pooler(states)))


def add_classifier_context(model: Classifier, context: ContextConfig) -> Classifier:
    """Return a classifier with the same weights that reads this context; see `add_context`."""
    known = model.config.context
    if known == context:
        return model
    network = copy_for_context(model.model, known, context)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Classifier(replace(model.config, context=context), network)
