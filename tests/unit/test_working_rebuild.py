"""Working memory is rebuilt after a loss, also when the rebuild itself is disturbed."""

import pytest

from clearwell.errors import WorkingMemoryUnavailable
from clearwell.testing import ManualClock, MemoryWorkingStore
from tests.path import LONG, OTHER, Path, said


class Weak(MemoryWorkingStore):
    """Working memory that can be switched off in the middle of a rebuild."""

    down = False

    async def replace(self, *arguments: object) -> None:
        if self.down:
            raise WorkingMemoryUnavailable("working_unavailable", problem="down")
        await super().replace(*arguments)  # type: ignore[arg-type] # passed on as they are


@pytest.fixture
async def path() -> Path:
    clock = ManualClock()
    path = Path(clock=clock, working=Weak(clock))
    await path.program.rebuilder.rebuild_after_loss()
    await path.memory.capture(said(), wait=True)
    await path.memory.capture(said(OTHER, group_id="h"), wait=True)
    return path


async def contents(path: Path) -> set[str]:
    return {entry.content for group in ("g", "h") for entry in await path.memory.working_memory(group=group)}


def weak(path: Path) -> Weak:
    assert isinstance(path.working, Weak)
    return path.working


async def test_a_rebuild_that_fails_is_repeated(path: Path) -> None:
    weak(path).lose_everything()
    weak(path).down = True
    with pytest.raises(WorkingMemoryUnavailable):
        await path.program.rebuilder.rebuild_after_loss()
    weak(path).down = False
    assert await path.program.rebuilder.rebuild_after_loss() == {"g": 1, "h": 1}
    assert await contents(path) == {LONG, OTHER}
    assert await path.program.rebuilder.rebuild_after_loss() == {}


async def test_what_is_lost_in_the_middle_of_a_rebuild_is_rebuilt(path: Path) -> None:
    run = await weak(path).find_loss()
    assert run is None
    weak(path).lose_everything()
    run = await weak(path).find_loss()
    assert run is not None
    weak(path).lose_everything()
    await weak(path).note_rebuilt(run)
    assert await path.program.rebuilder.rebuild_after_loss() == {"g": 1, "h": 1}


async def test_a_server_that_was_restarted_may_have_lost_the_last_second(path: Path) -> None:
    (entry,) = await path.memory.working_memory(group="g")
    weak(path).restart()
    await weak(path).remove("g", entry.id)
    assert await path.program.rebuilder.rebuild_after_loss() == {"g": 1, "h": 1}
    assert await contents(path) == {LONG, OTHER}
