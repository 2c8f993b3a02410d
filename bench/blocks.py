"""Interleaved measurement: every way of doing a thing gets its turn in every round, so that noise meets all alike."""

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

Step = Callable[[], Awaitable[object]]


@dataclass
class Times:
    """What one way of doing it took, in milliseconds."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    @property
    def median_cpu(self) -> float:
        return statistics.median(self.cpu)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.wall, n=20)[-1]


async def interleaved(steps: Mapping[str, Step], *, rounds: int, block: int) -> dict[str, Times]:
    """``rounds`` times: a block of each step, one after the other. The first round warms up and is not counted."""
    times = {name: Times() for name in steps}
    for number in range(rounds + 1):
        for name, step in steps.items():
            for _ in range(block):
                wall, cpu = time.perf_counter(), time.process_time()
                await step()
                if number:
                    times[name].wall.append((time.perf_counter() - wall) * 1000)
                    times[name].cpu.append((time.process_time() - cpu) * 1000)
    return times


def table(title: str, times: Mapping[str, Times], against: Mapping[str, str]) -> list[str]:
    """Markdown: medians, CPU of this process, and the ratio of each to its floor."""
    lines = [
        f"### {title}",
        "",
        "| what | median ms | p95 ms | client CPU ms | ratio to floor |",
        "|---|---|---|---|---|",
    ]
    for name, one in times.items():
        floor = against.get(name)
        ratio = "floor" if floor is None else f"**{one.median / times[floor].median:.2f}** × {floor}"
        lines.append(f"| {name} | {one.median:.3f} | {one.p95:.3f} | {one.median_cpu:.3f} | {ratio} |")
    return [*lines, ""]
