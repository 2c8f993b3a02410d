"""The short form of the fault run: few faults of every family, with a seed, on real servers.

``make test-faults`` is the long form, by which the figures in the documentation are made.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from tests.faults.campaign import Campaign, Outcome, Round, choose, share_rounds, tell_recovery
from tests.faults.faults import BUNDLED, PROXIED, STEPPED, Fault
from tests.faults.janitor import find_pids, swept_folder
from tests.faults.ledger import Kind, Ledger
from tests.faults.report import PAGES, RESULT, Figures, find_summary
from tests.faults.world import proxied_world, use_stepped_server
from tests.waiting import until

SEED = 14
QUICK = (
    "network between client and API: truncate",
    "network between program and PostgreSQL: black hole",
    "kill -9: PostgreSQL in the middle of promotions",
    "kill -9: serve and worker at once",
    "Valkey: failover to an empty one",
)
CLOCK = ("clock: hours forward and back, with kill -9",)


@pytest.fixture
def folder() -> Iterator[Path]:
    with swept_folder() as path:
        yield path


def named(faults: Sequence[Fault], names: Sequence[str]) -> list[Fault]:
    return [next(fault for fault in faults if fault.name == name) for name in names]


async def test_no_fault_loses_doubles_or_halves_an_acknowledged_write(folder: Path) -> None:
    campaign = Campaign(folder, SEED)
    async with proxied_world(folder, Random(SEED)) as world:
        await campaign.run_in(world, named(PROXIED, QUICK))
        await use_stepped_server(world)
        await campaign.run_in(world, named(STEPPED, CLOCK))
    assert campaign.outcome.problems == []
    assert len(campaign.outcome.rounds) == len(QUICK) + len(CLOCK)
    acknowledged = {write.kind for write in campaign.outcome.ledger.writes if write.acknowledged}
    assert len(acknowledged) >= 3, "there was a load"


def test_every_fault_is_chosen_as_often_as_its_weight_says() -> None:
    for faults in (BUNDLED, PROXIED, STEPPED):
        chosen = choose(faults, 300, Random(SEED))
        assert len(chosen) == 300
        assert {fault.name for fault in chosen} == {fault.name for fault in faults}
        rounds = share_rounds(chosen)
        assert sorted(fault.name for together in rounds for fault in together) == sorted(one.name for one in chosen)
        assert all(len({one.only_promotions for one in together}) == 1 for together in rounds)


def test_the_figures_of_several_runs_are_put_together_from_their_logs() -> None:
    outcome = Outcome(Ledger(Random(SEED)), rounds=[Round("kill -9: Valkey", 0.5), Round("disk full: A", 1.25)])
    outcome.ledger.begin(Kind.CAPTURE, "g").acknowledged = True
    outcome.ledger.begin(Kind.CAPTURE, "g")
    figures = Figures.of(outcome, measured_by="`make test-faults`, seed 1")
    lines = [tell_recovery(number, one) for number, one in enumerate(outcome.rounds, 1)]
    log = "\n".join([*lines, "      round of  1.00 s", figures.make_page()])
    again = Figures.read(log)
    assert again == figures
    again.add(figures)
    assert find_summary(again.make_page()) == "| 4 | 2 | 0 | 0 | 0 | 0 | 0.9 | 1.2 |"


def test_the_documentation_has_the_figures_of_the_last_run() -> None:
    rows = [find_summary(path.read_text(encoding="utf-8")) for path in (RESULT, *PAGES)]
    assert len(set(rows)) == 1


async def test_a_run_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    """The folder of the run, and a process that works in it, as the servers do."""
    script = (
        "import subprocess, sys, time\n"
        "from tests.faults.janitor import swept_folder\n"
        "with swept_folder() as folder:\n"
        "    subprocess.Popen(['sleep', '300'], cwd=folder, start_new_session=True)\n"
        "    print(folder, flush=True)\n"
        "    time.sleep(300)\n"
    )
    run = subprocess.Popen(  # noqa: ASYNC220 - it is killed below
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2], env={**os.environ}
    )
    assert run.stdout is not None
    folder = Path((await asyncio.to_thread(run.stdout.readline)).decode().strip())
    assert find_pids(folder)
    os.kill(run.pid, signal.SIGKILL)
    run.wait(10)
    run.stdout.close()

    async def gone() -> bool:
        return not await asyncio.to_thread(folder.exists)

    await until(gone)
    assert find_pids(folder) == []
