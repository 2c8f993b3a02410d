"""``clearwell serve`` as a user starts it, in a process of its own. Everything over HTTP is measured through it."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60.0
NOT_PASSED_ON = ("DATABASE_URL", "REDIS_URL")


@dataclass(frozen=True)
class Server:
    """A running ``clearwell serve``."""

    port: int
    pid: int
    start_seconds: float


@contextmanager
def serve(data_dir: Path, **environment: str) -> Iterator[Server]:
    """Start ``clearwell serve`` on ``data_dir`` and a free port, and stop it afterwards.

    Its PostgreSQL and Valkey are the bundled ones of that folder, which a measurement may have started and filled.
    ``environment`` holds further settings, such as ``CLEARWELL_EMBEDDER``.
    """
    port = free_port()
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CLEARWELL_") and name not in NOT_PASSED_ON
    }
    own = {"CLEARWELL_DATA_DIR": str(data_dir), "CLEARWELL_PORT": str(port), **environment}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "clearwell", "serve"], env=inherited | own, stdout=subprocess.DEVNULL
    )
    try:
        while not _is_ready(port):
            assert process.poll() is None, "clearwell serve ended"
            assert time.perf_counter() - started < START_SECONDS, "clearwell serve is not ready after a minute"
            time.sleep(0.02)
        yield Server(port, process.pid, time.perf_counter() - started)
    finally:
        process.terminate()
        process.wait(60)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _is_ready(port: int) -> bool:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        client.request("GET", "/readyz")
        return client.getresponse().status == 200
    except OSError:
        return False
    finally:
        client.close()
