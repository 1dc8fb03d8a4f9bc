"""The sandbox process shared by the tests of readers."""

from collections.abc import Iterator

import pytest

from rejoinder.documents.sandbox import SandboxedReader


@pytest.fixture(scope="session")
def sandbox() -> Iterator[SandboxedReader]:
    with SandboxedReader() as sandbox:
        yield sandbox
