"""Groups that workers leave alone."""

from datetime import timedelta

from clearwell.ports import Stores
from tests.waiting import until


async def test_a_paused_group_is_found_until_it_is_resumed(stores: Stores) -> None:
    assert await stores.pauses.find_paused({"g", "other"}) == set()
    await stores.pauses.pause("g", lasts=timedelta(minutes=2))
    assert await stores.pauses.find_paused({"g", "other"}) == {"g"}
    assert await stores.pauses.find_paused({"other"}) == set()
    await stores.pauses.resume("g")
    assert await stores.pauses.find_paused({"g"}) == set()


async def test_a_pause_ends_by_itself(real_stores: Stores) -> None:
    """So that a process that was killed does not leave its group without a worker."""
    await real_stores.pauses.pause("g", lasts=timedelta(milliseconds=50))

    async def ended() -> bool:
        return await real_stores.pauses.find_paused({"g"}) == set()

    await until(ended)
