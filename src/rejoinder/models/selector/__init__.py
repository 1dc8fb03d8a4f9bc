"""Selectors: cross-encoders that read a question with one candidate, and with its context."""

from rejoinder.models.registry import Family, lazy

FAMILY = Family(
    "selector",
    "a transformer that reads question and candidate together; the best and slowest",
    lazy("rejoinder.models.selector.scorer:SelectorScorer"),
    lazy("rejoinder.models.selector.scorer:open_page_encoder"),
    training="rejoinder.training.options:SELECTOR",
)
