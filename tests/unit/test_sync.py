"""The synchronous face: threads, loops, forks, interruptions and the end of the process."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path as Folder

import pytest
from httpx import ASGITransport

from clearwell import Client, NewCapture
from clearwell.adapters.http.app import create_app
from clearwell.errors import InvalidInput
from clearwell.sync.loop_thread import LoopThread
from clearwell.sync.memory import SyncMemoryManager
from tests.path import LONG, PERSON, Path, said

ROOT = Folder(__file__).parents[2]


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread()
    yield loop
    loop.close()


@pytest.fixture
def memory(loop: LoopThread) -> SyncMemoryManager:
    return SyncMemoryManager(Path().memory, loop)


def test_the_written_classes_are_up_to_date() -> None:
    command = [sys.executable, "scripts/sync.py", "--check"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_result_and_an_error_come_back_as_they_are(memory: SyncMemoryManager) -> None:
    receipt = memory.capture(said(), wait=True)
    assert memory.retrieve(LONG, group="g").items[0].id == receipt.id
    with pytest.raises(InvalidInput) as refused:
        memory.capture(said(" "))
    assert refused.value.field == "content"
    with pytest.raises(TypeError, match="keyword argument 'group'"):
        memory.retrieve("a question", "g")  # type: ignore[call-arg]


def test_many_threads_share_one_memory(memory: SyncMemoryManager) -> None:
    def capture(number: int) -> str:
        return str(memory.capture(said(f"The server number {number} was moved to the other data centre today.")).id)

    with ThreadPoolExecutor(8) as pool:
        assert len({*pool.map(capture, range(40))}) == 40
    assert len(memory.quarantine_rows(group="g", limit=100)) == 40


async def test_it_works_in_the_thread_pool_of_a_running_loop(memory: SyncMemoryManager) -> None:
    receipt = await asyncio.to_thread(memory.capture, said(), wait=True)
    assert receipt.id == memory.working_memory(group="g")[0].id, "and in the thread of a loop, which waits"


def test_a_node_is_a_function(memory: SyncMemoryManager) -> None:
    memory.capture(said(), wait=True)
    state = memory.retrieval_node(group="g")({"topic": LONG})
    assert "payment service" in str(state["history_context"])


def test_an_asynchronous_generator_is_an_iterator(loop: LoopThread) -> None:
    ended = threading.Event()

    async def count() -> AsyncGenerator[int]:
        try:
            for number in range(3):
                yield number
        finally:
            ended.set()

    assert list(loop.iterate(count())) == [0, 1, 2]
    ended.clear()
    for number in loop.iterate(count()):
        assert number == 0
        break
    assert ended.wait(5), "a loop that is left early closes the generator"


def test_a_context_is_left_by_the_task_that_entered_it(loop: LoopThread) -> None:
    seen = list[object]()

    @asynccontextmanager
    async def context() -> AsyncIterator[str]:
        async with asyncio.timeout(60):  # refuses to be left by another task
            try:
                yield "value"
            except ValueError as error:
                seen.append(error)
                raise
            finally:
                seen.append("left")

    with loop.enter(context()) as value:
        assert value == "value"
    assert seen == ["left"]
    error = ValueError("of the block")
    with pytest.raises(ValueError, match="of the block"), loop.enter(context()):
        raise error
    assert seen == ["left", error, "left"]
    with pytest.raises(SystemExit), loop.enter(context()):
        sys.exit()
    assert seen[-1] == "left"


def test_a_context_that_cannot_be_entered_says_why(loop: LoopThread) -> None:
    class Refusing(AbstractAsyncContextManager[None]):
        async def __aenter__(self) -> None:
            raise ValueError("not today")

        async def __aexit__(self, *_: object) -> None: ...

    with pytest.raises(ValueError, match="not today"), loop.enter(Refusing()):
        pass


def test_a_closed_memory_says_so(memory: SyncMemoryManager, loop: LoopThread) -> None:
    memory.capture(said())
    loop.close()
    loop.close()
    with pytest.raises(RuntimeError, match="closed"):
        memory.capture(said())


def test_what_waits_ends_when_the_loop_is_closed(loop: LoopThread) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(loop.run, asyncio.sleep(60))
        until = time.monotonic() + 5
        while loop._loop is None and time.monotonic() < until:  # the thread starts with the first call
            time.sleep(0.01)
        loop.run(asyncio.sleep(0.05))
        loop.close()
        with pytest.raises(RuntimeError, match="closed"):
            waiting.result(5)


def test_a_call_from_the_own_loop_is_refused(memory: SyncMemoryManager, loop: LoopThread) -> None:
    async def callback() -> None:
        memory.capture(said())

    with pytest.raises(RuntimeError, match="another thread"):
        loop.run(callback())


@pytest.mark.linux
def test_a_child_process_is_told_to_open_its_own() -> None:
    script = """
import os, sys
from clearwell.sync.loop_thread import LoopThread
import asyncio
loop = LoopThread()
loop.run(asyncio.sleep(0))
if os.fork() == 0:
    try:
        loop.run(asyncio.sleep(0))
    except RuntimeError as error:
        loop.close()
        os._exit(0 if "child process" in str(error) else 1)
    os._exit(2)
_, status = os.wait()
loop.run(asyncio.sleep(0))
sys.exit(os.waitstatus_to_exitcode(status))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=30).returncode == 0


@pytest.mark.linux
def test_a_client_that_was_made_before_the_fork_can_be_used_after_it() -> None:
    script = """
import os, sys
from clearwell import Client, Unavailable
client = Client("http://127.0.0.1:9", retries=0)
if os.fork() == 0:
    try:
        client.groups()
    except Unavailable:
        client.close()
        os._exit(0)
    os._exit(2)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False, timeout=30).returncode == 0


def test_the_process_ends_although_a_client_was_left_open() -> None:
    script = """
import asyncio, threading
from clearwell import Client, Unavailable
client = Client("http://127.0.0.1:9", retries=0)
try:
    client.groups()
except Unavailable:
    print("asked")
def wait():
    try:
        client._loop.run(asyncio.sleep(600))
    except RuntimeError:
        pass
threading.Thread(target=wait, daemon=True).start()
"""
    begun = time.monotonic()
    ran = subprocess.run([sys.executable, "-c", script], check=True, timeout=30, capture_output=True, text=True)
    assert ran.stdout == "asked\n"
    assert ran.stderr == ""
    assert time.monotonic() - begun < 20


@pytest.mark.linux
def test_an_interruption_ends_the_call_and_not_the_memory() -> None:
    script = """
import asyncio
from clearwell.sync.loop_thread import LoopThread
loop = LoopThread()
ended = []
async def wait():
    try:
        print("waiting", flush=True)
        await asyncio.sleep(60)
    finally:
        ended.append(True)
try:
    loop.run(wait())
except KeyboardInterrupt:
    loop.run(asyncio.sleep(0.1))
    print("interrupted", ended, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "interrupted [True]\n"
        assert process.wait(20) == 0


def test_an_interruption_at_any_moment_ends_the_coroutine() -> None:
    script = """
import asyncio, os, signal
from clearwell.sync.loop_thread import LoopThread
loop, begun, ended = LoopThread(), [], []
async def wait():
    begun.append(True)
    os.kill(os.getpid(), signal.SIGINT)  # the caller may not wait for the result yet
    try:
        await asyncio.sleep(60)
    finally:
        ended.append(True)
for number in range(500):
    try:
        loop.run(wait())
    except KeyboardInterrupt:
        loop.run(asyncio.sleep(0.001))
print(len(begun), len(ended))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("500 500\n", "")


def test_the_client_has_the_records_of_the_library() -> None:
    path = Path()
    app = create_app(path.settings)
    app.state.clearwell = path.program
    path.program.keys.trust("token", PERSON)
    with Client("http://127.0.0.1", "token", agent=False, transport=ASGITransport(app)) as client:
        receipt = client.capture(NewCapture(content=LONG, group_id="g"), wait=True)
        assert client.retrieve(LONG, group="g").items[0].id == receipt.id
        promoted = client.promote(LONG, group="g")
        assert [decision.memory_id for decision in client.review.decisions(group="g")] == [promoted.id]
    with pytest.raises(RuntimeError, match="closed"):
        client.groups()
