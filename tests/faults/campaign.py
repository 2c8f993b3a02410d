"""A run: rounds of load, one fault each, and a check of everything after each."""

import asyncio
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random

import httpx
import psycopg
import redis

from clearwell.flow.working.capacity import read_capacity
from clearwell.settings import Settings
from tests.faults.checks import Damage, StoreChecker
from tests.faults.faults import BUNDLED, PROXIED, STEPPED, Fault
from tests.faults.ledger import Ledger
from tests.faults.load import Load
from tests.faults.world import World, bundled_world, proxied_world, use_stepped_server

PATIENCE = 120.0
"""Seconds after which a world counts as one that does not recover."""
SECONDS_TO_AGREE = 10.0
CONTENT_CHECKS = frozenset({"access", "ingress", "retrieval", "port"})
"""Checks of the doctor that can warn on a healthy server: of keys, of what was captured, and of a server that was not
started by the command, as the one with a clock of its own. That the API answers is what the load shows."""
TOGETHER = 5
"""How many faults share a round. Writes are compared after each of them, all tiers and the doctor after the last."""
BUNDLED_SHARE, STEPPED_SHARE = 0.08, 0.04


@dataclass(slots=True)
class Round:
    """What one fault led to."""

    fault: str
    recovered_after: float
    """Seconds from the end of the cause until captures are admitted and queries answered in full."""


@dataclass(slots=True)
class Outcome:
    """What a run found."""

    ledger: Ledger
    rounds: list[Round] = field(default_factory=list)
    damage: Damage = field(default_factory=Damage)
    unhealthy: list[str] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        damage = self.damage
        surprises = [f"{times} × {what}" for what, times in self.ledger.surprises.items()]
        return [*damage.lost, *damage.doubled, *damage.half_done, *self.unhealthy, *surprises]


class NotRecovered(AssertionError):
    """A world did not come back by itself."""


class Campaign:
    """Rounds on one world after the other."""

    def __init__(self, folder: Path, seed: int, *, tell: Callable[[str], None] = lambda _: None) -> None:
        """``tell`` gets a line for each fault, and one for each problem."""
        self._folder = folder
        self._seed = seed
        self._tell = tell
        self.outcome = Outcome(Ledger(Random(seed + 1)))
        self._settings = Settings(database_url=None, redis_url=None)
        self._told = 0
        self._numbers = count(1)

    async def run(self, faults: int, *, seconds: float = math.inf) -> Outcome:
        """Inject this many faults, in both arrangements; fewer if that takes longer than ``seconds``."""
        started = time.monotonic()
        bundled, stepped = (max(1, round(faults * share)) for share in (BUNDLED_SHARE, STEPPED_SHARE))
        for name in ("bundled", "proxied"):
            (self._folder / name).mkdir()
        async with bundled_world(self._folder / "bundled", Random(self._seed)) as world:
            end = started + 2 * BUNDLED_SHARE * seconds
            await self.run_in(world, choose(BUNDLED, bundled, world.random), end=end)
        async with proxied_world(self._folder / "proxied", Random(self._seed)) as world:
            end = started + (1 - 2 * STEPPED_SHARE) * seconds
            await self.run_in(world, choose(PROXIED, faults - bundled - stepped, world.random), end=end)
            await use_stepped_server(world)
            await self.run_in(world, choose(STEPPED, stepped, world.random), end=started + seconds)
        return self.outcome

    async def run_in(self, world: World, faults: Sequence[Fault], *, end: float = math.inf) -> None:
        """Inject these faults until ``end``, one after the other, and check all groups of the world in the end."""
        load = Load(world.proxied_url, world.key, self.outcome.ledger, world.random)
        groups: list[str] = []
        try:
            for together in share_rounds(faults):
                if time.monotonic() > end:
                    break
                groups.append(await self._run_round(world, load, together))
        finally:
            await load.close()
        await self._check(world, groups, "in the end")
        await asyncio.to_thread(self._examine, world, "in the end", "audit", "verify")

    async def _run_round(self, world: World, load: Load, faults: Sequence[Fault]) -> str:
        """Load, with these faults one after the other, and then the checks."""
        group, started, recovered = f"g{next(self._numbers)}", time.monotonic(), list[float]()
        after = " + ".join(fault.name for fault in faults)
        async with load.running(group, only_promotions=faults[0].only_promotions):
            for fault in faults:
                await asyncio.sleep(world.random.uniform(0.02, 0.2))
                await fault.act(world)
                healed = time.monotonic()
                await world.ensure()
                await self._wait_until_recovered(world, fault)
                recovered.append(time.monotonic() - healed)
                await self._check(world, [group], fault.name, live=True)
        await self._wait_until_settled(world, after)
        await asyncio.gather(
            self._check(world, [group], after), asyncio.to_thread(self._examine, world, after, "doctor")
        )
        for fault, seconds in zip(faults, recovered, strict=True):
            self.outcome.rounds.append(Round(fault.name, seconds))
            self._tell(tell_recovery(len(self.outcome.rounds), self.outcome.rounds[-1]))
        self._tell(f"      round of {time.monotonic() - started:5.2f} s")
        for problem in self.outcome.problems[self._told :]:
            self._tell(f"      {problem}")
        if len(self.outcome.problems) > self._told:
            self._tell(world.find_tracebacks())
        self._told = len(self.outcome.problems)
        return group

    async def _wait_until_recovered(self, world: World, fault: Fault) -> None:
        end = time.monotonic() + PATIENCE
        headers = {"Authorization": f"Bearer {world.key}"}
        async with httpx.AsyncClient(base_url=world.url, headers=headers, timeout=10, trust_env=False) as client:
            while not await self._is_well(client):
                await world.ensure()
                if time.monotonic() > end:
                    raise NotRecovered(f"{fault.name}: no recovery within {PATIENCE:g} s\n{world.read_logs()}")
                await asyncio.sleep(0.05)

    async def _is_well(self, client: httpx.AsyncClient) -> bool:
        """Whether a capture is admitted at once and a query is answered from every tier."""
        body = {"group_id": "probe", "content": self.outcome.ledger.new_text()}
        try:
            captured = await client.post("/api/v1/captures?wait=true", json=body)
            asked = await client.post("/api/v1/memory/query", json={"group_id": "probe", "query": "route planner"})
        except httpx.HTTPError:
            return False
        if not captured.is_success or not asked.is_success:
            return False
        return captured.json()["admission"] != "pending" and not asked.json()["degraded"]

    async def _wait_until_settled(self, world: World, after: str) -> None:
        """Wait for the work in the background. It is done without help, or never."""
        checker, end = self._checker(world), time.monotonic() + PATIENCE
        while left := await asyncio.to_thread(checker.list_unsettled):
            if time.monotonic() > end:
                raise NotRecovered(f"{after}: left after {PATIENCE:g} s: {left}\n{world.read_logs()}")
            await asyncio.sleep(0.05)

    async def _check(self, world: World, groups: Sequence[str], after: str, *, live: bool = False) -> None:
        """Compare the stores with the ledger. ``live``: the load goes on.

        What is rebuilt in the background may come a moment later, so the stores have some seconds to agree.
        """
        life = timedelta(seconds=self._settings.working_ttl_seconds)
        since = None if live else datetime.now(UTC) + timedelta(seconds=world.furthest) - life
        checker, end = self._checker(world), time.monotonic() + SECONDS_TO_AGREE
        while True:
            try:
                found = await asyncio.to_thread(checker.check, self.outcome.ledger, groups, since=since)
            except (psycopg.OperationalError, redis.RedisError) as error:
                found = Damage(lost=[f"the stores do not answer: {error}"])
            if not found or time.monotonic() > end:
                break
            await asyncio.sleep(0.1)
        for texts in (found.lost, found.doubled, found.half_done):
            texts[:] = [f"{after}: {text}" for text in texts]
        self.outcome.damage.add(found)

    def _examine(self, world: World, after: str, *words: str) -> None:
        """Run a command that looks for faults; note what it finds."""
        ran = world.program.run(*words, "--json")
        found = json.loads(ran.out) if ran.out else {}
        wrong = [
            f"{one['check']}: {one['text']}"
            for one in found.get("checks", ())
            if one["status"] != "ok" and one["check"] not in CONTENT_CHECKS
        ]
        if ran.code or wrong:
            self.outcome.unhealthy.append(f"{after}: clearwell {' '.join(words)}: {ran.code} {wrong} {ran.err[-300:]}")

    def _checker(self, world: World) -> StoreChecker:
        return StoreChecker(world.postgres_url, world.valkey_url, capacity=read_capacity(self._settings))


def tell_recovery(number: int, one: Round) -> str:
    """The line of a fault, from which the figures of several runs are put together."""
    return f"{number:5d} {one.fault:60s} recovered after {one.recovered_after:5.2f} s"


def choose(faults: Sequence[Fault], number: int, random: Random) -> list[Fault]:
    """This many faults: each of them in turn as often as its weight says, in a random order."""
    whole = sum(fault.weight for fault in faults)
    chosen = [fault for fault in faults for _ in range(int(number * fault.weight / whole))]
    rest = sorted(faults, key=lambda fault: -(number * fault.weight / whole) % 1)
    while len(chosen) < number:
        chosen += rest[: number - len(chosen)]
    random.shuffle(chosen)
    return chosen


def share_rounds(faults: Sequence[Fault]) -> list[list[Fault]]:
    """The rounds: faults that need the same load share one."""
    rounds = []
    for alike in (False, True):
        of_load = [fault for fault in faults if fault.only_promotions is alike]
        rounds += [of_load[start : start + TOGETHER] for start in range(0, len(of_load), TOGETHER)]
    return sorted(rounds, key=lambda together: faults.index(together[0]))
