"""Losses over the candidates of questions.

Each takes scores, labels and a mask of shape (Q, C) for Q questions with up to C candidates;
the mask is True where a candidate exists, a label is 1 where it answers.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def pointwise(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Binary cross-entropy of each candidate by itself, averaged over candidates."""
    return functional.binary_cross_entropy_with_logits(scores[mask], labels[mask])


def pairwise(scores: Tensor, labels: Tensor, mask: Tensor, *, margin: float = 1.0) -> Tensor:
    """Hinge of each answer against the wrong candidate that scores highest.

    Contrastive, with hard negatives (Rao et al. 2016), averaged over answers.  Questions
    without an answer, or without a wrong candidate, are left out.
    """
    is_wrong = mask & (labels == 0)
    hardest = scores.masked_fill(~is_wrong, float("-inf")).amax(dim=1, keepdim=True)  # (Q, 1)
    hinge = (margin - scores + hardest).clamp(min=0)
    counts = mask & (labels > 0) & is_wrong.any(dim=1, keepdim=True)
    return _mean(hinge[counts], scores)


def listwise(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """KL divergence from the normalised labels to the softmax of the scores, per question.

    Bonadiman & Moschitti 2020, section 3.2.  Questions without an answer have no
    distribution to match and are left out of the mean.
    """
    log_probabilities = scores.masked_fill(~mask, float("-inf")).log_softmax(dim=1)
    target = labels.masked_fill(~mask, 0.0)
    has_answer = target.sum(dim=1) > 0
    target = target[has_answer] / target[has_answer].sum(dim=1, keepdim=True)
    # 0 * -inf is nan, so masked candidates are zeroed before the product.
    log_probabilities = log_probabilities[has_answer].masked_fill(~mask[has_answer], 0.0)
    per_question = (torch.xlogy(target, target) - target * log_probabilities).sum(dim=1)
    return _mean(per_question, scores)


def anchored(scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Listwise plus pointwise: ranks a list, and keeps scores comparable across lists."""
    return listwise(scores, labels, mask) + pointwise(scores, labels, mask)


LOSSES: dict[str, Loss] = {
    loss.__name__: loss for loss in (pointwise, pairwise, listwise, anchored)
}
MEANS = {name: (name,) for name in LOSSES} | {"anchored": ("listwise", "pointwise")}
"""The means that a loss adds up; each is over something else."""


def measure_terms(loss: str, scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
    """Return each of the means that a loss adds up, shape (means,)."""
    return torch.stack([LOSSES[name](scores, labels, mask) for name in MEANS[loss]])


def count_terms(loss: str, labels: Tensor, mask: Tensor) -> Tensor:
    """Return how many candidates, answers or questions each of these means is over, (means,)."""
    target = labels.masked_fill(~mask, 0.0)
    has_wrong = (mask & (labels == 0)).any(dim=1, keepdim=True)
    counts = {
        "pointwise": mask.sum(),
        "pairwise": ((target > 0) & has_wrong).sum(),
        "listwise": (target.sum(dim=1) > 0).sum(),
    }
    return torch.stack([counts[name] for name in MEANS[loss]])


def _mean(values: Tensor, scores: Tensor) -> Tensor:
    """Return the mean; without values, a zero that has a gradient."""
    return values.mean() if len(values) else scores.sum() * 0.0
