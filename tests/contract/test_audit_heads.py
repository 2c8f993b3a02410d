"""Heads of the audit: the twin and the file behave alike, and the file outlives processes and damage."""

import asyncio
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from clearwell.ports import AuditHeads
from clearwell.records import KnownHead
from clearwell.stores.files import FILE_NAME, FileAuditHeads, audit_heads
from clearwell.testing import ManualClock, MemoryAuditHeads
from clearwell.vocabulary import HeadsProblem


def head(number: int, group_id: str = "g", root: bytes = b"r") -> KnownHead:
    return KnownHead(group_id=group_id, number=number, root=root)


def file_heads(folder: Path, database: str = "d") -> FileAuditHeads:
    return FileAuditHeads(folder, database, ManualClock())


@pytest.fixture(params=["twin", "file"])
def heads(request: pytest.FixtureRequest, tmp_path: Path) -> AuditHeads:
    return MemoryAuditHeads(ManualClock()) if request.param == "twin" else file_heads(tmp_path)


async def test_a_head_never_goes_back(heads: AuditHeads) -> None:
    assert await heads.find("g") is None
    await heads.record([head(2), head(1, "other")])
    await heads.record([head(1)])
    await heads.record([head(2, root=b"x")])
    assert await heads.find("g") == head(2)
    await heads.record([head(3)])
    assert (await heads.find("g"), await heads.find("other")) == (head(3), head(1, "other"))


async def test_a_head_remembers_how_it_began_and_that_it_was_refused(heads: AuditHeads) -> None:
    began = ManualClock().now()
    await heads.record([replace(head(1), begun_at=began)])
    await heads.record([head(2)])
    await heads.mark_refused("g", at=began)
    assert await heads.find("g") == replace(head(2), begun_at=began, refused_at=began)
    state = await heads.state()
    assert (state.heads, state.begun, state.refused) == (1, ("g",), ("g",))
    await heads.record([head(2)])
    assert await heads.find("g") == replace(head(2), begun_at=began)


async def test_the_beginning_is_kept_once(heads: AuditHeads) -> None:
    assert (await heads.state()).since is None
    await heads.begin()
    began = (await heads.state()).since
    assert began is not None
    await heads.record([head(1)])
    await heads.begin()
    assert (await heads.state()).since == began


async def test_an_operator_replaces_a_head(heads: AuditHeads) -> None:
    await heads.record([head(5)])
    await heads.replace("g", head(3))
    assert await heads.find("g") == head(3)
    await heads.replace("g", None)
    assert await heads.find("g") is None


async def test_the_file_is_private_and_shared_by_processes(tmp_path: Path) -> None:
    first, second = file_heads(tmp_path), file_heads(tmp_path)
    await first.record([head(1)])
    await second.record([head(2), head(1, "组")])
    assert (await first.find("g"), await first.find("组")) == (head(2), head(1, "组"))
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert await file_heads(tmp_path, "another database").find("g") is None
    names = sorted(path.name for path in tmp_path.iterdir())  # noqa: ASYNC240 - of a test
    assert names == [f".{FILE_NAME}.lock", FILE_NAME]


def write_many(folder: Path, name: str) -> None:
    async def write() -> None:
        heads = file_heads(folder)
        for number in range(1, 21):
            await heads.record([head(number), head(number, name)])

    asyncio.run(write())


async def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3) as pool:
        list(pool.map(write_many, [tmp_path] * 3, "abc"))
    heads = file_heads(tmp_path)
    assert [await heads.find(name) for name in "gabc"] == [head(20, name) for name in "gabc"]


async def test_a_damaged_file_is_set_aside_and_begun_anew(tmp_path: Path) -> None:
    await file_heads(tmp_path).record([head(7)])
    path = tmp_path / FILE_NAME
    said = json.loads(path.read_text())
    said["databases"]["d"]["heads"]["g"]["number"] = 6
    path.write_text(json.dumps(said))
    heads = file_heads(tmp_path)
    assert await heads.find("g") is None
    await heads.record([head(1)])
    assert (await heads.state()).problem is HeadsProblem.DAMAGED
    (tmp_path / f"{FILE_NAME}.damaged").unlink()
    assert (await heads.state()).problem is None
    assert await file_heads(tmp_path).find("g") == head(1)


async def test_a_process_writes_a_lost_file_again(tmp_path: Path) -> None:
    heads = file_heads(tmp_path)
    await heads.record([head(7)])
    (tmp_path / FILE_NAME).unlink()
    await heads.record([head(1, "other")])
    assert await file_heads(tmp_path).find("g") == head(7)


async def test_without_a_writable_folder_heads_are_kept_in_the_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    heads = file_heads(tmp_path / "file" / "folder")
    await heads.record([head(7)])
    assert await heads.find("g") == head(7)
    assert (await heads.state()).problem is HeadsProblem.UNWRITABLE


async def test_a_full_file_keeps_what_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_heads, "MAX_HEADS", 2)
    heads = file_heads(tmp_path)
    await heads.record([head(1, "a"), head(1, "b"), head(1, "c"), head(2, "a")])
    assert [await heads.find(name) for name in "abc"] == [head(2, "a"), head(1, "b"), None]
    assert (await heads.state()).problem is HeadsProblem.FULL


async def test_the_database_that_was_unused_for_longest_gives_way(tmp_path: Path) -> None:
    clock = ManualClock()
    for number in range(audit_heads.MAX_DATABASES + 1):
        await FileAuditHeads(tmp_path, str(number), clock).record([head(1)])
        clock.forward(timedelta(seconds=1))
    assert await FileAuditHeads(tmp_path, "0", clock).find("g") is None
    assert await FileAuditHeads(tmp_path, "1", clock).find("g") == head(1)
