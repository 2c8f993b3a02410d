"""How long `clearwell serve` takes to be ready, cold and warm, and what it holds in memory."""

import shutil
import statistics
import tempfile
from pathlib import Path

import psutil

from bench.server import serve

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
    """Seconds until it was ready, and its resident memory then in MB."""
    with serve(folder) as server:
        return server.start_seconds, psutil.Process(server.pid).memory_info().rss / 1e6
