"""Shared by all tests: where published data is, and how long a property may take."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Tests import onnxruntime themselves too; rejoinder is not there yet to turn its telemetry off.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# No deadline for properties: machines are shared and noisy.
settings.register_profile("rejoinder", deadline=None, max_examples=100)
settings.load_profile("rejoinder")


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what tests cache out of the user's own cache."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of published data sets, or skip the test and say why."""
    named = os.environ.get("REJOINDER_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs published data sets: {folder} is not there, set $REJOINDER_DATA")
    return folder
