"""A server of the examples, started as the README says."""

from collections.abc import Iterator

import pytest

from tests.browser import add, browser, open_page, page
from tests.environments import ROOT
from tests.server.running import serving

__all__ = ["browser", "open_page", "page"]


@pytest.fixture(scope="package")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("newcomer")
    add(folder / "my-index", ROOT / "examples/docs")
    with serving(folder, str(folder / "my-index"), "--workers", "1") as running:
        yield running.address
