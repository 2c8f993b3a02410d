"""What unit tests share."""

import logging
import socket
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


@pytest.fixture
def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
