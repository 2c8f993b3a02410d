"""The long run: ``python -m tests.faults [faults] [seed] [minutes]``. It writes ``bench/results/faults.md``."""

import asyncio
import math
import sys
import time

from tests.faults.campaign import Campaign
from tests.faults.janitor import swept_folder
from tests.faults.report import Figures

FAULTS, SEED = 1000, 14


def main(faults: int = FAULTS, seed: int = SEED, minutes: float = math.inf) -> int:
    """Inject this many faults, or as many as there is time for."""
    started = time.monotonic()
    with swept_folder() as folder:
        campaign = Campaign(folder, seed, tell=lambda line: print(line, flush=True))  # noqa: T201
        outcome = asyncio.run(campaign.run(faults, seconds=60 * minutes))
    took = (time.monotonic() - started) / 60
    limit = "" if math.isinf(minutes) else f" {minutes:g}"
    measured_by = f"`python -m tests.faults {faults} {seed}{limit}` in {took:.0f} minutes"
    figures = Figures.of(outcome, measured_by=measured_by)
    print(figures.make_page())  # noqa: T201
    if outcome.problems:
        return 1
    if faults >= FAULTS:
        figures.publish()
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
