from pathlib import Path

import pytest


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """Return a tiny encoder with new weights."""
    from tests.models.selectors import write_encoder

    return write_encoder(tmp_path / "encoder")
