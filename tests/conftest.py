"""Fixtures and settings for all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# rejoinder disables onnxruntime's telemetry, but some tests import onnxruntime first.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# No deadline: machines are shared and noisy.
settings.register_profile("rejoinder", deadline=None, max_examples=100)
settings.load_profile("rejoinder")


TESTS = Path(__file__).parent
SLOW = (
    *("adapters", "batch", "cli/documents", "cli/models", "cli/research", "mcp", "newcomers"),
    *("papers", "reliability", "retrieval", "server", "training"),
)
"""Folders and modules that train, start processes or measure; `make quick` leaves them out."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow folders and modules."""
    slow = {TESTS / name for name in SLOW}
    for item in items:
        if slow & {item.path.with_suffix(""), *item.path.parents}:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep tests out of the user's cache and history."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of published data sets, or skip the test."""
    configured = os.environ.get("REJOINDER_DATA")
    folder = Path(configured) if configured else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs published data sets: {folder} does not exist, set $REJOINDER_DATA")
    return folder
