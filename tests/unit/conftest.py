"""What unit tests share."""

import logging
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture
def own_logs() -> Iterator[None]:
    """Undo what a test configures of logging: its handlers write to a stream that ends with the test."""
    root = logging.getLogger()
    handlers, level, config = root.handlers[:], root.level, structlog.get_config()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.configure(**config)
