"""The child process that the tests of readers share."""

from collections.abc import Iterator

import pytest

from rejoinder.documents.sandbox import Child


@pytest.fixture(scope="session")
def child() -> Iterator[Child]:
    with Child() as child:
        yield child
