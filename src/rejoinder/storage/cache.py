"""The user's cache folder."""

import os
from pathlib import Path


def get_cache_folder() -> Path:
    """Return rejoinder's folder in the user's cache: $XDG_CACHE_HOME or ~/.cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "")
    if not cache.is_absolute():
        cache = Path.home() / ".cache"
    return cache / "rejoinder"
