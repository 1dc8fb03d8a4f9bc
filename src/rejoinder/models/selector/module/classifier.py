"""A cross-encoder as the papers fine-tune it: the architecture's own head gives the score.

The head of a fine-tuned cross-encoder is kept; that of a plain encoder is new.

Axes: P pairs, L tokens of the input, E width.
"""

from typing import Any

from torch import Tensor, nn

from rejoinder.models.encoders.architectures import has_types, is_packed, read_states
from rejoinder.models.selector.module.selector import SelectorConfig


class Classifier(nn.Module):
    """Scores pairs by a model `ForSequenceClassification` with one label."""

    def __init__(self, config: SelectorConfig, model: Any) -> None:
        super().__init__()
        self.config = config
        self.model = model

    @property
    def encoder(self) -> Any:
        """The encoder under the head."""
        return self.model.base_model

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        """Return scores (P,) of inputs (P, L); the mask is 1 where there is a token."""
        if is_packed(self.encoder):
            logits = self._judge(read_states(self.encoder, ids, mask, kinds))
        else:
            types = {"token_type_ids": kinds} if has_types(self.encoder.config) else {}
            logits = self.model(input_ids=ids, attention_mask=mask, **types).logits
        score: Tensor = logits.float().squeeze(1)
        return score

    def get_new_parameters(self) -> list[nn.Parameter]:
        """Return no weights: head and encoder learn at the same rate, as in the papers."""
        return []

    def _judge(self, states: Tensor) -> Any:
        """Return the head's logits (P, 1) of the encoder's states."""
        pooler = getattr(self.encoder, "pooler", None)
        if pooler is None:  # the head takes the first state itself
            return self.model.classifier(states)
        return self.model.classifier(self.model.dropout(pooler(states)))
