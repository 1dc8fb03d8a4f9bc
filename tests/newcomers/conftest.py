"""A server of the examples, started as the README says."""

from collections.abc import Iterator

import pytest

from tests.browser import PHONE, add, browser, open_page, page
from tests.environments import ROOT
from tests.server.running import serving

__all__ = ["browser", "open_page", "page"]


DEVICES: dict[str, dict[str, object]] = {
    "desktop": {},
    "phone": PHONE,
    "dark": {"color_scheme": "dark"},
}


@pytest.fixture(scope="package", params=DEVICES)
def device(request: pytest.FixtureRequest) -> dict[str, object]:
    return DEVICES[request.param]


@pytest.fixture(scope="package")
def address(
    tmp_path_factory: pytest.TempPathFactory,
    device: dict[str, object],
) -> Iterator[str]:
    """Return the address of a server of its own for each device: the tasks change the index."""
    folder = tmp_path_factory.mktemp("newcomer")
    add(folder / "my-index", ROOT / "examples/docs")
    with serving(folder, str(folder / "my-index"), "--workers", "1") as running:
        yield running.address
