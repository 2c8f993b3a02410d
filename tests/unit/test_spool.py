"""The spool: captures survive the process, in their order, and are delivered once."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from clearwell.clock import TimeOrderedIds
from clearwell.errors import ConfigurationError, Unavailable
from clearwell.middleware import MemoryMiddleware, Node, Session
from clearwell.middleware.segments import FRAME, SegmentFile, decode_capture, encode_capture, name_segment
from clearwell.middleware.spool import Spool, read_spool
from clearwell.middleware.spool_folder import AHEAD, SpoolFolder
from clearwell.records import NewCapture
from clearwell.settings import Settings
from clearwell.testing import ManualClock
from tests.path import LONG
from tests.path import Path as Program
from tests.unit.test_middleware import AUDITOR, SESSION, Faulty, Forgetful, stored

CLOCK = ManualClock()
MEBIBYTE = 1024 * 1024


def new(number: int, **fields: Any) -> NewCapture:
    return NewCapture(content=f"capture {number} 原文 \ud800", group_id="g", occurred_at=CLOCK.now(), **fields)


def spool_in(path: Path, *, to: str = "here", **options: Any) -> Spool:
    usual: dict[str, Any] = {"max_bytes": 64 * MEBIBYTE, "max_age": timedelta(days=7), "clock": CLOCK}
    return Spool(path, to, ids=TimeOrderedIds(), **{**usual, **options})


def contents(spool: Spool, *, most: int = 10_000) -> list[str]:
    return [queued.new.content for queued in spool.peek(most=most, max_bytes=10**9)]


def expected(numbers: Sequence[int]) -> list[str]:
    return [new(number).content for number in numbers]


def drain(spool: Spool) -> list[str]:
    """Deliver everything in batches."""
    delivered: list[str] = []
    while batch := spool.peek(most=100, max_bytes=MEBIBYTE):
        delivered += [queued.new.content for queued in batch]
        spool.advance(batch[-1].number)
    return delivered


class Child:
    """A process that does some work and then waits to be killed."""

    def __init__(self, work: Callable[[], None]) -> None:
        ready, say_ready = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                work()
                os.write(say_ready, b".")
                signal.pause()
            finally:
                os._exit(1)
        os.close(say_ready)
        done = os.read(ready, 1)
        os.close(ready)
        assert done, "the work failed"

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def write_and_die(path: Path, numbers: Sequence[int], *, delivered: int = 0, **options: Any) -> None:
    """Have a process write captures, deliver the first ones, and kill it."""

    def work() -> None:
        spool = spool_in(path, **options)
        for number in numbers:
            spool.append(new(number))
        if delivered:
            spool.advance(spool.peek(most=delivered, max_bytes=MEBIBYTE)[-1].number)

    Child(work).kill()


def segments(path: Path) -> list[Path]:
    return sorted(path.rglob("*.segment"))


def test_a_capture_comes_back_as_it_was() -> None:
    full = new(
        1,
        session_id="s",
        node_id="n",
        node_type="tool",
        agent_id="a",
        metadata={"confidence": float("inf"), "list": [1, None, {"x": "y"}]},
        partial=True,
        idempotency_key="k",
    )
    assert decode_capture(json.dumps(encode_capture(full)).encode()) == full
    assert decode_capture(b'{"content": "x", "of a later version": 1}') == NewCapture(content="x")


def test_what_a_killed_process_left_is_taken_over_and_comes_first(tmp_path: Path) -> None:
    def write() -> None:
        first = spool_in(tmp_path)
        for number in range(5):
            first.append(new(number))
        kept.append(first)

    kept: list[Spool] = []
    child = Child(write)
    second = spool_in(tmp_path)
    second.append(new(5))
    second.recover()
    assert contents(second) == expected([5]), "the first process is alive"
    child.kill()
    second.recover()
    assert second.measure().count == 6
    assert drain(second) == expected(range(6))
    second.close()
    assert segments(tmp_path) == []
    assert [report.waiting for report in read_spool(tmp_path)] == [0]


def test_what_was_delivered_before_the_kill_is_not_read_again(tmp_path: Path) -> None:
    write_and_die(tmp_path, range(5), delivered=2)
    assert [report.waiting for report in read_spool(tmp_path)] == [3]
    again = spool_in(tmp_path)
    again.recover()
    assert drain(again) == expected([2, 3, 4])


def test_captures_for_another_memory_or_caller_are_left_alone(tmp_path: Path) -> None:
    write_and_die(tmp_path, [1], to="https://one.example, key 1")
    second = spool_in(tmp_path, to="https://one.example, key 2")
    second.recover()
    assert contents(second) == []
    assert sorted((report.destination, report.waiting) for report in read_spool(tmp_path)) == [
        ("https://one.example, key 1", 1),
        ("https://one.example, key 2", 0),
    ]


@pytest.mark.parametrize("lost", [1, 5, FRAME.size + 3, 60])
def test_a_torn_tail_costs_the_last_capture_only(tmp_path: Path, lost: int) -> None:
    write_and_die(tmp_path, range(3))
    (path,) = segments(tmp_path)
    os.truncate(path, path.stat().st_size - lost)
    again = spool_in(tmp_path)
    again.recover()
    assert drain(again) == expected([0, 1])


def test_a_damaged_frame_ends_its_segment_but_not_the_next(tmp_path: Path) -> None:
    write_and_die(tmp_path, range(20), max_bytes=16_384)
    first, *others = segments(tmp_path)
    assert others
    data = bytearray(first.read_bytes())
    data[FRAME.size + 30] ^= 0xFF
    first.write_bytes(bytes(data))
    again = spool_in(tmp_path)
    again.recover()
    delivered = drain(again)
    assert delivered == expected(range(20))[-len(delivered) :]
    assert len(delivered) >= len(others)


def test_a_lost_cursor_sends_again_what_was_delivered(tmp_path: Path) -> None:
    write_and_die(tmp_path, range(3), delivered=1)
    (cursor,) = tmp_path.rglob("cursor")
    cursor.write_bytes(b"\x00\x01")
    again = spool_in(tmp_path)
    again.recover()
    assert drain(again) == expected([0, 1, 2])


def test_an_old_cursor_never_skips_a_new_capture(tmp_path: Path) -> None:
    def work() -> None:
        spool = spool_in(tmp_path)
        spool.append(new(0))
        drain(spool)
        spool.append(new(1))

    Child(work).kill()
    (cursor,) = tmp_path.rglob("cursor")
    cursor.write_bytes(b"")
    again = spool_in(tmp_path)
    again.recover()
    assert drain(again) == expected([1]), "delivered content is removed from the file at once"


def test_a_backlog_larger_than_memory_is_read_back_in_order(tmp_path: Path) -> None:
    spool = spool_in(tmp_path)
    for number in range(3 * AHEAD):
        spool.append(new(number))
    assert spool.measure().count == 3 * AHEAD
    half = [queued.number for queued in spool.peek(most=AHEAD, max_bytes=10**9)]
    spool.advance(half[-1])
    spool.append(new(3 * AHEAD))
    assert drain(spool) == expected(range(AHEAD, 3 * AHEAD + 1))
    assert spool.measure().count == 0


def test_a_full_spool_drops_its_oldest_segment(tmp_path: Path) -> None:
    spool = spool_in(tmp_path, max_bytes=16_384)
    for number in range(200):
        spool.append(new(number))
    size = spool.measure()
    assert size.count + size.dropped == 200
    assert size.bytes <= 16_384
    assert sum(path.stat().st_size for path in segments(tmp_path)) <= 16_384
    assert drain(spool) == expected(range(size.dropped, 200))


def test_captures_that_waited_too_long_are_dropped(tmp_path: Path) -> None:
    clock = ManualClock(CLOCK.now())
    spool = spool_in(tmp_path, clock=clock)
    for number in range(250):
        spool.append(new(number))
    clock.forward(timedelta(days=6))
    assert len(contents(spool)) == 250
    spool.append(NewCapture(content="young", occurred_at=clock.now()))
    clock.forward(timedelta(days=2))
    assert contents(spool, most=100) == ["young"]
    assert spool.measure().dropped == 250


def test_files_are_private_and_a_shared_folder_is_refused(tmp_path: Path) -> None:
    spool = spool_in(tmp_path / "spool")
    spool.append(new(1))
    spool.set_aside(new(2), "text_nul")
    spool.sync()
    modes = {
        stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "spool").rglob("*") if "destination" not in path.name
    }
    assert modes == {0o600, 0o700}
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o770)
    with pytest.raises(ConfigurationError, match="Others can write to the spool"):
        spool_in(tmp_path / "shared")


def test_refused_captures_are_kept_with_their_reason_and_bounded(tmp_path: Path) -> None:
    spool = spool_in(tmp_path, max_refused=3)
    for number in range(5):
        spool.set_aside(new(number), "text_nul")
    files = [json.loads(path.read_text()) for path in sorted(tmp_path.rglob("refused/*.json"))]
    assert [(one["reason"], one["capture"]["content"]) for one in files] == [
        ("text_nul", content) for content in expected([2, 3, 4])
    ]
    assert [report.refused for report in read_spool(tmp_path)] == [3]


def test_a_disk_that_cannot_be_written_to_is_replaced_by_memory(tmp_path: Path) -> None:
    spool = spool_in(tmp_path)
    shutil.rmtree(spool.path)
    spool.path.touch()
    spool.append(new(0))
    spool.path.unlink()
    spool.path.mkdir(mode=0o700)
    spool.append(new(1))
    assert segments(tmp_path) == [], "the order is kept"
    assert drain(spool) == expected([0, 1])
    spool.append(new(2))
    assert len(segments(tmp_path)) == 1, "the disk is used again"
    assert drain(spool) == expected([2])


def test_a_removed_folder_is_not_taken_over(tmp_path: Path) -> None:
    folder = SpoolFolder.create(tmp_path / "a", max_bytes=MEBIBYTE)
    folder.close()
    assert SpoolFolder.take_over(tmp_path / "a", max_bytes=MEBIBYTE) is None


def test_a_short_write_leaves_the_segment_as_it_was(tmp_path: Path) -> None:
    segment = SegmentFile(tmp_path / name_segment(1))
    segment.append(1, b"{}")
    size = segment.size
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from clearwell.middleware.segments import SegmentFile\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "segment = SegmentFile.read(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (segment.size + 20, -1))\n"
        "try:\n"
        "    segment.append(2, b'x' * 100)\n"
        "except OSError:\n"
        "    print('refused')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(segment.path)], check=True, capture_output=True, text=True)
    assert ran.stdout == "refused\n"
    assert segment.path.stat().st_size == size
    segment.append(2, b"[]")
    assert [frame.payload for frame in segment.frames()] == [b"{}", b"[]"]


async def test_the_next_middleware_delivers_what_the_first_one_could_not(tmp_path: Path) -> None:
    program = Program()
    memory = Faulty(program, Unavailable("middleware_no_answer", reason="x"))
    options: dict[str, Any] = {"settings": program.settings, "clock": program.clock, "spool": tmp_path}
    async with MemoryMiddleware(memory, **options) as first:
        for number in range(3):
            await first.after_node_execution(SESSION, AUDITOR, f"{LONG} {number}")
    assert stored(program) == []
    said = program.clock.now()
    program.clock.forward(timedelta(hours=30))
    memory.error = None
    async with MemoryMiddleware(memory, **options) as second:
        await second.after_node_execution(SESSION, AUDITOR, f"{LONG} 3")
        assert await second.flush()
    assert [row.content for row in stored(program)] == [f"{LONG} {number}" for number in range(4)]
    assert [row.occurred_at == said for row in stored(program)] == [True, True, True, False]
    assert read_spool(tmp_path)[0].waiting == 0


async def test_a_capture_that_was_stored_before_the_kill_is_not_stored_again(tmp_path: Path) -> None:
    program = Program()
    memory = Forgetful(program)
    options: dict[str, Any] = {"settings": program.settings, "clock": program.clock, "spool": tmp_path}
    async with MemoryMiddleware(memory, **options) as first:
        for number in range(3):
            await first.after_node_execution(SESSION, AUDITOR, f"{LONG} {number}")
    assert len(stored(program)) == read_spool(tmp_path)[0].waiting == 3
    async with MemoryMiddleware(memory, **options) as second:
        while not await second.flush():
            pass
    assert [row.content for row in stored(program)] == [f"{LONG} {number}" for number in range(3)]


async def test_a_folder_that_cannot_be_made_leaves_the_captures_in_memory(tmp_path: Path) -> None:
    program = Program()
    (tmp_path / "file").touch()
    settings = Settings(spool_dir=tmp_path / "file" / "spool")
    async with MemoryMiddleware(program.memory, settings=settings, clock=program.clock) as middleware:
        await middleware.after_node_execution(Session("s", group_id="g"), Node("n"), LONG)
    assert [row.content for row in stored(program)] == [LONG]
