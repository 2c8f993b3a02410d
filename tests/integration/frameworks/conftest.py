"""The program of the command line, and a loop for synchronous runners of frameworks."""

import asyncio
from collections.abc import Iterator

import pytest

from tests.integration.cli.conftest import program

__all__ = ["program"]


@pytest.fixture
def own_loop() -> Iterator[None]:
    """A loop of the thread that is closed at the end. Runners of frameworks make one and leave it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()
