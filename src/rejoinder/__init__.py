"""Answer a question with the one sentence that answers it, on a CPU.

>>> import rejoinder
>>> ranking = rejoinder.rank(
...     "who wrote it?", ["It rained.", "Ada wrote it."], scorer=rejoinder.load("bm25")
... )
>>> ranking.items[0].candidate.text
'Ada wrote it.'
"""

import re
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# The stub is the one list of public names.  They are imported on first use, so that
# `rejoinder --help` does not import numpy.
with open(f"{__file__}i", encoding="utf-8") as _stub:  # noqa: PTH123
    _IMPORTS = re.findall(r"^from (\S+) import (\w+) as", _stub.read(), re.MULTILINE)
_MODULES = {name: module for module, name in _IMPORTS}
__all__ = sorted(_MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'rejoinder' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
