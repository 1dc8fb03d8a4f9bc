"""Scores whether a sentence supports a statement: a selector's network, and the words they share.

The network reads the statement in the place of a question, and knows what the two are about.  It
does not see well whether every number and every name of the statement is in the sentence, so a
logistic regression, the head, reads that too.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.bundle.folder import Bundle, open_bundle
from rejoinder.errors import BundleError
from rejoinder.models.onnx_session import CPU, Runtime
from rejoinder.models.registry import list_shipped
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.selector.scorer import KIND as SELECTOR
from rejoinder.models.selector.scorer import SelectorScorer
from rejoinder.models.support.words import NAMES, compare_words
from rejoinder.types import Candidate, to_candidates

KIND = "support"
BASE = "base"
"""The setting that names the shipped selector whose network it is."""
WEIGHTS_OF_HEAD, INTERCEPT = "head", "intercept"
FEATURES = ("network", *NAMES)
"""The features of a pair, in their order."""


class SupportScorer:
    """Scores with the network and the head of a bundle; the sigmoid of a score is a probability."""

    is_pointwise = True

    def __init__(self, bundle: Bundle, runtime: Runtime = CPU) -> None:
        self.name = Path(bundle.folder).name
        settings = bundle.manifest.config
        try:
            base = open_bundle(list_shipped()[settings[BASE]], kind=SELECTOR)
            head = [float(settings[WEIGHTS_OF_HEAD][name]) for name in FEATURES]
            self._intercept = float(settings[INTERCEPT])
        except (KeyError, TypeError, ValueError) as error:
            raise bundle.refuse(f"setting is missing or wrong: {error}") from error
        self._network = SelectorScorer(base, runtime)
        self._weights = np.array(head)
        if not np.isfinite([*head, self._intercept]).all():
            raise BundleError(f"{bundle.folder}: its head holds a number that is not finite")
        self.tokenizer = self._network.tokenizer
        """The hash of the tokenizer whose stored tokens it reads."""

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given; the question is the statement."""
        given = to_candidates(candidates)
        if not given:
            return np.zeros(0)
        # Sums of rows, not a product of matrices, whose rounding depends on the number of rows.
        products = self.read(question, given) * self._weights
        return np.asarray(products.sum(axis=1) + self._intercept, dtype=np.float64)

    def read(self, statement: str, candidates: Sequence[Candidate]) -> Scores:
        """Return the features of each candidate, (candidates, `FEATURES`)."""
        network = self._network.get_logits(statement, candidates)
        return np.column_stack([network, compare_words(statement, candidates)])
