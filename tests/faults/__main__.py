"""The long run: ``python -m tests.faults [number of faults] [seed]``. It writes ``bench/results/faults.md``."""

import asyncio
import sys
import time

from tests.faults.campaign import Campaign
from tests.faults.janitor import swept_folder
from tests.faults.report import make_page, publish

FAULTS, SEED = 1000, 14


def main(count: int = FAULTS, seed: int = SEED) -> int:
    started = time.monotonic()
    with swept_folder() as folder:
        campaign = Campaign(folder, seed, tell=lambda line: print(line, flush=True))  # noqa: T201
        outcome = asyncio.run(campaign.run(count))
    minutes = (time.monotonic() - started) / 60
    page = make_page(outcome, command=f"make test-faults FAULTS={count}", seed=seed, minutes=minutes)
    print(page)  # noqa: T201
    if outcome.problems:
        return 1
    if count >= FAULTS:
        publish(outcome, page)
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
