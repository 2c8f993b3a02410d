"""A backup of a folder in use is whole, and nothing but a whole one is restored, to nothing but an empty folder."""

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from tests.integration.cli.program import Program
from tests.path import PERSON
from tests.places import make_folder

from clearwell.app import open_clearwell
from clearwell.embedded import EmbeddedPostgres, RunningServer, make_backup, restore_backup
from clearwell.errors import EmbeddedStoreError
from clearwell.models import OfflineEmbedder
from clearwell.records import NewCapture
from clearwell.servers import Servers
from clearwell.settings import Settings

AT = datetime(2026, 1, 5, tzinfo=UTC)


async def _back_up(running: RunningServer, target: Path, **files: Path) -> None:
    named = {name.replace("_", "."): path for name, path in files.items()}
    await make_backup(running, target, named, _silent, at=AT, program="0", schema=1)


def _silent(_done: int, _total: int) -> None:
    pass


async def test_everything_acknowledged_before_a_backup_is_in_it(
    folder: Path, redis_url: str, offline_embedder: OfflineEmbedder
) -> None:
    first, second = folder / "first", folder / "second"
    settings = Settings(data_dir=first)
    acknowledged: list[UUID] = []
    ended = asyncio.Event()
    with EmbeddedPostgres(first) as running:
        servers = Servers(database_url=running.url, redis_url=redis_url, embedded=(running,))
        async with open_clearwell(settings, servers, embedder=offline_embedder) as clearwell:
            memory = clearwell.memory.acting_as(PERSON)
            promoted = await memory.promote("The harbour office keeps the ledger in the iron cabinet.", group="g")

            async def capture() -> None:
                while not ended.is_set():
                    text = f"Boat {len(acknowledged)} passed the lock at noon on Monday."
                    acknowledged.append((await memory.capture(NewCapture(content=text, group_id="g"))).id)

            load = [asyncio.create_task(capture()) for _ in range(3)]
            while len(acknowledged) < 20:  # noqa: ASYNC110 - the load goes on meanwhile
                await asyncio.sleep(0.01)
            before = set(acknowledged)
            await _back_up(running, folder / "backup", audit_key=first / "audit.key")
            assert len(acknowledged) > len(before), "captures went on during the backup"
            ended.set()
            await asyncio.gather(*load)
            await clearwell.queue.join()
    await restore_backup(folder / "backup", second, _silent)
    assert (second / "audit.key").read_bytes() == (first / "audit.key").read_bytes()
    assert (second / "audit.key").stat().st_mode & 0o077 == 0
    with EmbeddedPostgres(second) as restored, psycopg.connect(restored.url) as owner:
        stored = {row[0] for row in owner.execute("SELECT id FROM quarantine_logs")}
        halves = owner.execute("""SELECT count(*) FROM quarantine_logs q
            FULL JOIN admissions a ON a.group_id = q.group_id AND a.log_id = q.id
            WHERE q.id IS NULL OR a.log_id IS NULL""").fetchall()
        chunks = owner.execute("SELECT id FROM memories").fetchall()
    assert before <= stored <= set(acknowledged)
    assert halves == [(0,)]
    assert chunks == [(promoted.id,)]
    healthy = Program(folder, {"CLEARWELL_DATA_DIR": str(second)}).run("doctor", "--json")
    assert healthy.code == 0, healthy


@pytest.fixture(scope="module")
def whole() -> Iterator[Path]:
    """A backup of an empty server with a settings file."""
    folder = make_folder("cw-backup-")
    (folder / "settings").write_text("x")
    with EmbeddedPostgres(folder / "data") as running:
        asyncio.run(_back_up(running, folder / "whole", clearwell_toml=folder / "settings"))
    yield folder / "whole"
    shutil.rmtree(folder)


@pytest.fixture
def running(used: Path) -> Iterator[RunningServer]:
    with EmbeddedPostgres(used) as server:
        yield server


def _change(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"changed")


def _link_out(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def _leave_folder(path: Path) -> None:
    said = json.loads(path.read_text())
    path.write_text(json.dumps({**said, "files": {**said["files"], "../../stolen": said["files"]["clearwell.toml"]}}))


def _be_newer(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 2}))


@pytest.mark.parametrize(
    ("name", "damage", "told"),
    [
        ("clearwell.toml", _change, "is damaged"),
        ("clearwell.toml", Path.unlink, "is damaged"),
        ("postgres/backup_manifest", _change, "is damaged"),
        ("postgres/base/1/1255", _change, "is damaged"),
        ("postgres/pg_wal/0*", Path.unlink, "is damaged"),
        ("postgres/PG_VERSION", _link_out, "is damaged"),
        ("backup.json", _leave_folder, "is not a backup"),
        ("backup.json", _be_newer, "a format that this program does not know"),
    ],
)
async def test_only_a_whole_backup_is_restored(
    whole: Path, folder: Path, name: str, damage: Callable[[Path], None], told: str
) -> None:
    path = next(iter(whole.glob(name)))  # noqa: ASYNC240 - of a test
    kept = path.read_bytes()
    damage(path)
    try:
        with pytest.raises(EmbeddedStoreError, match=told):
            await restore_backup(whole, folder / "new", _silent)
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(kept)
    assert not (folder / "new").exists()


async def test_nothing_is_overwritten(whole: Path, running: RunningServer, used: Path, folder: Path) -> None:
    with pytest.raises(EmbeddedStoreError, match="is not an empty folder"):
        await _back_up(running, whole)
    (folder / "link").symlink_to(folder / "elsewhere")
    with pytest.raises(EmbeddedStoreError, match="is not an empty folder"):
        await _back_up(running, folder / "link")
    with pytest.raises(EmbeddedStoreError, match="A PostgreSQL server is running"):
        await restore_backup(whole, used, _silent)
    full = folder / "full"
    full.mkdir()
    (full / "letter").write_text("x")
    with pytest.raises(EmbeddedStoreError, match="not empty"):
        await restore_backup(whole, full, _silent)
    assert [path.name for path in full.iterdir()] == ["letter"]


async def test_a_backup_that_is_interrupted_leaves_nothing(running: RunningServer, folder: Path) -> None:
    began = asyncio.Event()
    task = asyncio.create_task(
        make_backup(running, folder / "b" / "one", {}, lambda *_: began.set(), at=AT, program="0", schema=1)
    )
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list((folder / "b").iterdir()) == []
