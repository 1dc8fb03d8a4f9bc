"""Where the index of files that were asked about directly is kept."""

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path


def get_cached_index(paths: Iterable[Path]) -> Path:
    """Return the folder, in the user's cache, of the index over these files and folders."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "")
    if not cache.is_absolute():
        cache = Path.home() / ".cache"
    names = sorted({path.resolve() for path in paths})
    key = sha256(b"\0".join(map(os.fsencode, names))).hexdigest()[:16]
    return cache / "rejoinder" / "indexes" / key
