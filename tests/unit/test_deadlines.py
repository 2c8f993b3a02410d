"""Tasks that are ended."""

import asyncio
from contextlib import suppress

from clearwell.flow.deadlines import cancel_tasks


async def swallow_cancellations(times: int) -> None:
    for _ in range(times):
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
    await asyncio.Event().wait()


async def test_tasks_that_swallow_a_cancellation_end_too() -> None:
    tasks = [asyncio.create_task(swallow_cancellations(times)) for times in (0, 1, 2)]
    await asyncio.sleep(0)
    await cancel_tasks(*tasks)
    assert [task.cancelled() for task in tasks] == [True, True, True]


async def test_a_task_that_has_ended_keeps_its_result() -> None:
    task = asyncio.create_task(asyncio.sleep(0, "result"))
    await task
    await cancel_tasks(task)
    assert task.result() == "result"
