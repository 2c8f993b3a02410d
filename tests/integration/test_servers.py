"""Bundled servers run as long as they are needed, also where something ends one of them."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis.asyncio as redis
from redis.exceptions import ConnectionError as Unreachable

from clearwell.servers import running_valkey
from clearwell.settings import Settings
from tests.places import make_folder
from tests.waiting import until


@pytest.fixture
def folder() -> Iterator[Path]:
    made = make_folder("cw-")
    yield made
    shutil.rmtree(made)


async def test_a_bundled_server_that_is_killed_is_started_again(folder: Path) -> None:
    async with running_valkey(Settings(data_dir=folder)) as valkey:
        assert valkey.bundled is not None
        os.kill(valkey.bundled.pid, signal.SIGKILL)

        async def answers() -> bool:
            async with redis.Redis.from_url(valkey.url) as client:
                try:
                    return bool(await client.ping())
                except Unreachable:
                    return False

        async def gone() -> bool:
            return not await answers()

        await until(gone)
        await until(answers)
