"""HAS: an answer's words are stored as bits, over which a question attends.

Xu & Li 2020, "Hashing based Answer Selection".
"""

from rejoinder.models.registry import Family, lazy

FAMILY = Family(
    "has",
    "a bi-encoder whose answers are stored as bits (Xu & Li 2020)",
    lazy("rejoinder.models.has.scorer:HasScorer"),
    lazy("rejoinder.models.has.scorer:AnswerEncoder"),
    training="rejoinder.training.options:HAS",
)
