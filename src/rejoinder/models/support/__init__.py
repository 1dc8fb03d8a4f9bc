"""Support: whether a sentence supports a statement."""

from rejoinder.models.registry import Family, lazy

FAMILY = Family(
    "support",
    "a selector that reads a statement instead of a question, for `rejoinder cite`",
    lazy("rejoinder.models.support.scorer:SupportScorer"),
)
