"""How long `clearwell serve` takes to be ready, and what it holds in memory; how long the command line takes."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from bench.server import serve

WARM_STARTS = 3
RUNS = 7
PROGRAM = (sys.executable, "-m", "clearwell")


async def measure() -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="cw-bench-"))
    try:
        cold, _ = _start(folder)
        warm = [_start(folder) for _ in range(WARM_STARTS)]
        with serve(folder) as server:
            environment = {**os.environ, "CLEARWELL_DATA_DIR": str(folder), "CLEARWELL_PORT": str(server.port)}
            query = _time([*PROGRAM, "query", "-g", "g", "Where are the backups?"], environment)
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
        f"### The command line, median of {RUNS} processes",
        "",
        "| | seconds | must be under |",
        "|---|---|---|",
        f"| `python -c pass` (floor) | {_time([sys.executable, '-c', 'pass']):.2f} | |",
        f"| `import clearwell` | {_time([sys.executable, '-c', 'import clearwell']):.2f} | 0.3 |",
        f"| `clearwell --help` | {_time([*PROGRAM, '--help']):.2f} | 0.4 |",
        f"| `clearwell query` with a server of the same data folder | {query:.2f} | 0.6 |",
        "",
    ]


def _time(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """The median of the seconds that a process takes from its start to its end, after one that is not counted."""
    taken = []
    for _ in range(RUNS + 1):
        started = time.perf_counter()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def _start(folder: Path) -> tuple[float, float]:
    """Seconds until it was ready, and its resident memory then in MB."""
    with serve(folder) as server:
        return server.start_seconds, psutil.Process(server.pid).memory_info().rss / 1e6
