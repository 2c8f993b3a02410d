"""How long `clearwell serve` takes to be ready, cold and warm, and what it holds in memory."""

import http.client
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

WARM_STARTS = 3


async def measure() -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="cw-bench-"))
    try:
        cold, _ = _start(folder)
        warm = [_start(folder) for _ in range(WARM_STARTS)]
    finally:
        shutil.rmtree(folder)
    seconds = statistics.median(taken for taken, _ in warm)
    memory = max(resident for _, resident in warm)
    return [
        "### Start of `clearwell serve` until /readyz answers 200",
        "",
        "| | measured | must be under |",
        "|---|---|---|",
        f"| cold (initdb) | {cold:.1f} s | 15 s |",
        f"| warm, median of {WARM_STARTS} | {seconds:.1f} s | 5 s |",
        f"| resident memory of the serving process, model loaded | {memory:.0f} MB | 350 MB |",
        "",
    ]


def _start(folder: Path) -> tuple[float, float]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    environment |= {"CLEARWELL_DATA_DIR": str(folder), "CLEARWELL_PORT": str(port)}
    started = time.perf_counter()
    command = [sys.executable, "-m", "clearwell", "serve"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not _ready(port):
            assert process.poll() is None, "clearwell serve ended"
            assert time.perf_counter() - started < 60, "clearwell serve is not ready after a minute"
            time.sleep(0.02)
        return time.perf_counter() - started, psutil.Process(process.pid).memory_info().rss / 1e6
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _ready(port: int) -> bool:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        client.request("GET", "/readyz")
        return client.getresponse().status == 200
    except OSError:
        return False
    finally:
        client.close()
