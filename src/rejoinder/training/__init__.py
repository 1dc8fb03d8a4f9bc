"""Training with torch; importing the package, or its options, needs none."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rejoinder.extras import find_missing_extra

if TYPE_CHECKING:
    from rejoinder.training.distillation import distil as distil
    from rejoinder.training.distillation import train_static_vectors as train_static_vectors
    from rejoinder.training.has import train_has as train_has
    from rejoinder.training.mining import mine_lists as mine_lists
    from rejoinder.training.ranker import train_ranker as train_ranker
    from rejoinder.training.selector import average_selectors as average_selectors
    from rejoinder.training.selector import train_selector as train_selector
    from rejoinder.training.static_encoder import train_static_encoder as train_static_encoder

_MODULES = {
    "average_selectors": "selector",
    "distil": "distillation",
    "mine_lists": "mining",
    "train_has": "has",
    "train_ranker": "ranker",
    "train_selector": "selector",
    "train_static_encoder": "static_encoder",
    "train_static_vectors": "distillation",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'rejoinder.training' has no attribute {name!r}")
    try:
        return getattr(import_module(f"rejoinder.training.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        raise find_missing_extra("training", error) or error from error
