"""The user's cache folder."""

from pathlib import Path


def get_cache_folder() -> Path:
    """Return rejoinder's folder in the user's cache; $XDG_CACHE_HOME moves it on Linux."""
    from platformdirs import user_cache_path

    return user_cache_path("rejoinder", appauthor=False)
