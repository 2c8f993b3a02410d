"""A group as a file: everything comes back as it was, and nothing that nobody here or trusted elsewhere has signed."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clearwell.adapters.cli.archive_file import read_batches, verify_file
from clearwell.app import Clearwell
from clearwell.errors import Conflict, InvalidInput, NotAllowed
from clearwell.flow.archive.format import seal_root, write_line
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.models import OfflineEmbedder
from clearwell.records import (
    Admission,
    ForgetSelector,
    ImportBatch,
    ImportResult,
    NewCapture,
    Principal,
    Right,
    Source,
)
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from clearwell.signing import SigningKey, fingerprint, load_signing_key
from tests.conftest import copy_database, opened
from tests.path import PERSON

GROUP = "harbour"
LEDGER = "The harbour office keeps the blue ledger in the iron cabinet."
OLD_LEDGER = "The harbour office keeps the blue ledger in the cellar."
PILOT = "The pilot prefers messages before seven in the morning."
BOATS = "The night shift at the lock counts 14 boats on average since the new timetable."
CHEESE = "The moon above the harbour is made of green cheese, as everybody at the lock knows."
COMPARED = {
    "quarantine_logs": "id, session_id, agent_id, content, occurred_at, created_at, captured_by",
    "admissions": "log_id, state, settled_at, flags",
    "ingress_verdicts": 'log_id, at, position, "check", outcome, reason',
    "promotions": "id, memory_id, scope, agent_id, origin, origin_id, content, decided_by, decided_at, fingerprint",
    "memories": """id, chunk_no, promotion_id, content, embedding_model, promoted_at, valid_to, flags, session_id,
        author, CASE WHEN valid_to IS NULL THEN position END, CASE WHEN valid_to IS NULL THEN lexemes::text END""",
    "decisions": "id, action, promotion_id, memory_id, others, supersedes, reason, decided_by, decided_at",
    "tombstones": "id, value_hash, kind, reason, embedding::text, made_by, made_at",
    "agents": "agent_id, persona, created_at",
    "groups": "group_id, system_prompt, created_at",
    "group_terms WHERE chunks > 0": "reader, dimension, chunks",
}


@dataclass(frozen=True)
class Installation:
    """A program with a database and a key of its own."""

    clearwell: Clearwell
    url: str
    public_key: str

    @property
    def memory(self) -> MemoryManager:
        return self.clearwell.memory.acting_as(PERSON)

    async def export(self, path: Path, group: str = GROUP) -> Path:
        lines = [line async for line in self.memory.export_group(group=group)]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")  # noqa: ASYNC240 - of a test
        return path

    async def load(self, path: Path, *, trust: str | None = None, by: Principal = PERSON) -> list[ImportResult]:
        memory = self.clearwell.memory.acting_as(by)
        return [
            await memory.import_batch(batch, group=header.group_id, trust=trust)
            for header, _, batch in read_batches(path)
        ]

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as owner:
            return owner.execute(f"SELECT {COMPARED[table]} FROM {table} ORDER BY 1, 2, 3".encode()).fetchall()  # noqa: S608

    def count(self, table: str) -> int:
        return len(self.rows(table))


@asynccontextmanager
async def install(
    postgres_url: str, redis_url: str, folder: Path, embedder: OfflineEmbedder
) -> AsyncIterator[Installation]:
    with copy_database(postgres_url, "template_clearwell") as url:
        settings = Settings(database_url=url, redis_url=redis_url, data_dir=folder)
        async with opened(settings, embedder) as clearwell:
            yield Installation(clearwell, url, load_signing_key(settings).public_key)


@pytest.fixture
async def here(
    postgres_url: str, redis_url: str, tmp_path: Path, offline_embedder: OfflineEmbedder
) -> AsyncIterator[Installation]:
    async with install(postgres_url, redis_url, tmp_path / "here", offline_embedder) as one:
        yield one


@pytest.fixture
async def there(
    postgres_url: str, redis_url: str, tmp_path: Path, offline_embedder: OfflineEmbedder
) -> AsyncIterator[Installation]:
    async with install(postgres_url, redis_url, tmp_path / "there", offline_embedder) as one:
        yield one


async def _fill(one: Installation) -> None:
    memory = one.memory
    await memory.promote(PILOT, group=GROUP, agent_id="pilot", session_id="s2", author="Holm")
    old = await memory.promote(OLD_LEDGER, group=GROUP, session_id="s1")
    await memory.promote(LEDGER, group=GROUP, session_id="s1", supersedes=old.id, metadata={"room": 7})
    receipt = await memory.capture(NewCapture(content=BOATS, group_id=GROUP, session_id="s1", agent_id="a1"), wait=True)
    assert receipt.admission is Admission.ADMITTED
    await memory.capture(NewCapture(content="Too short.", group_id=GROUP), wait=True)
    await memory.add_tombstone(CHEESE, group=GROUP, reason="a fairy tale")


async def test_a_group_comes_back_as_it_was(here: Installation, there: Installation, tmp_path: Path) -> None:
    await _fill(here)
    path = await here.export(tmp_path / "file")
    assert [header.group_id for header in verify_file(path)] == [GROUP]
    results = await there.load(path, trust=fingerprint(here.public_key))
    assert results[-1].finished
    assert sum(one.refused + one.known for one in results) == 0
    for table in COMPARED:
        assert there.rows(table) == here.rows(table), table
    memory = there.memory
    for agent, text in ((None, LEDGER), ("pilot", PILOT)):
        options = RetrieveOptions(agent_id=agent, sources=[Source.COLD])
        assert (await memory.retrieve(text, group=GROUP, options=options)).items[0].content == text
    assert OLD_LEDGER not in {one.content for one in (await memory.retrieve(OLD_LEDGER, group=GROUP)).items}
    found = (await memory.retrieve(LEDGER, group=GROUP)).items[0]
    origin = await memory.memory_origin(found.id, group=GROUP)
    assert (origin.promoted_by, origin.import_id) == (PERSON.name, results[0].import_id)
    refused = await memory.capture(NewCapture(content=CHEESE, group_id=GROUP), wait=True)
    assert refused.admission is Admission.REFUSED, "the tombstones came along, with the secret that they need"
    assert (await memory.verify_audit(group=GROUP)).intact
    actions = [event.action for event in await memory.audit_events(group=GROUP)]
    assert {"begin import", "import"} <= set(actions)


async def test_an_import_is_repeated_and_continued(here: Installation, there: Installation, tmp_path: Path) -> None:
    await _fill(here)
    path, trust = await here.export(tmp_path / "file"), fingerprint(here.public_key)
    batches = [batch for _, _, batch in read_batches(path)]
    memory = there.memory
    first = await memory.import_batch(batches[0], group=GROUP, trust=trust)
    assert (first.next_number, first.finished) == (1, False)
    with pytest.raises(Conflict, match="another one is expected") as refused:
        await memory.import_batch(batches[2], group=GROUP, trust=trust)
    assert refused.value.current == {"next_number": 1}
    await there.load(path, trust=trust)
    before = {table: there.rows(table) for table in COMPARED}
    again = await there.load(path, trust=trust)
    assert {(one.stored, one.next_number, one.finished) for one in again} == {(0, len(batches), True)}
    assert {table: there.rows(table) for table in COMPARED} == before
    assert (await here.load(path))[-1].stored == 0, "to the installation that it is from, without any trust"


async def test_what_was_forgotten_or_rejected_since_stays_away(here: Installation, tmp_path: Path) -> None:
    await _fill(here)
    path = await here.export(tmp_path / "file")
    ledger = (await here.memory.retrieve(LEDGER, group=GROUP)).items[0]
    for selector in (ForgetSelector(session_id="s1"), ForgetSelector(memory_id=ledger.id)):
        plan = await here.memory.preview_forget(selector, group=GROUP)
        await here.memory.forget(selector, group=GROUP, token=plan.token)
    results = await here.load(path)
    assert results[-1].finished
    assert sum(one.refused for one in results) > 0
    with psycopg.connect(here.url) as owner:
        for table in ("quarantine_logs", "promotions", "memories"):
            found = f"SELECT count(*) FROM {table} WHERE content IN (%s, %s)"  # noqa: S608 - names of tables
            assert owner.execute(found.encode(), (BOATS, LEDGER)).fetchall() == [(0,)], table


async def test_tombstones_of_the_importing_installation_count(
    here: Installation, there: Installation, tmp_path: Path
) -> None:
    await _fill(here)
    path, trust = await here.export(tmp_path / "file"), fingerprint(here.public_key)
    batches = [batch for _, _, batch in read_batches(path)]
    await there.memory.import_batch(batches[0], group=GROUP, trust=trust)
    await there.memory.add_tombstone(LEDGER, group=GROUP, reason="not here")
    results = await there.load(path, trust=trust)
    assert sum(one.refused for one in results) == 1
    assert LEDGER not in {row[6] for row in there.rows("promotions")}
    assert not [one for one in (await there.memory.retrieve(LEDGER, group=GROUP)).items if one.content == LEDGER]


async def test_withdrawn_memories_are_not_brought_back(here: Installation, tmp_path: Path) -> None:
    await _fill(here)
    path = await here.export(tmp_path / "file")
    found = (await here.memory.retrieve(LEDGER, group=GROUP)).items[0]
    await here.memory.review.withdraw(found.id, group=GROUP, reason="moved")
    await here.load(path)
    assert found.id not in {one.id for one in (await here.memory.retrieve(LEDGER, group=GROUP)).items}


def _change_text(lines: list[str]) -> list[str]:
    return [line.replace("iron cabinet", "wooden box") for line in lines]


def _drop_line(lines: list[str]) -> list[str]:
    return [line for line in lines if '"kind":"tombstone"' not in line]


def _add_promotion(lines: list[str]) -> list[str]:
    at = next(number for number, line in enumerate(lines) if '"kind":"memory"' in line)
    return [*lines[:at], lines[at].replace("messages before seven", "no messages"), *lines[at:]]


def _swap_batches(lines: list[str]) -> list[str]:
    seals = [number for number, line in enumerate(lines) if '"kind":"seal"' in line]
    first, second = lines[seals[0] + 1 : seals[1] + 1], lines[seals[1] + 1 : seals[2] + 1]
    return [*lines[: seals[0] + 1], *second, *first, *lines[seals[2] + 1 :]]


def _cut_off(lines: list[str]) -> list[str]:
    seals = [number for number, line in enumerate(lines) if '"kind":"seal"' in line]
    return lines[: seals[-2] + 1]


def _cut_in_row(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1][:50]]


def _rename_group(lines: list[str]) -> list[str]:
    return [lines[0].replace(GROUP, "other"), *lines[1:]]


def _sign_with_own_key(lines: list[str]) -> list[str]:
    """A forger seals and signs everything again, and says that the key is that of the installation."""
    return _sign(_change_text(lines), SigningKey.generate())


def _sign(lines: Sequence[str], key: SigningKey, *, header: str | None = None) -> list[str]:
    header = header or lines[0]
    made, rows, root, number = [header], list[str](), "", 0
    for line in lines[1:]:
        if '"kind":"seal"' not in line:
            rows.append(line)
            continue
        last = json.loads(line)["last"]
        root = seal_root(header, root, rows, number=number, last=last)
        seal = {"kind": "seal", "number": number, "rows": len(rows), "last": last, "root": root}
        made += [*rows, write_line({**seal, "signature": key.sign(root.encode()).hex()})]
        rows, number = [], number + 1
    return made


FORGERIES = (
    _change_text,
    _drop_line,
    _add_promotion,
    _swap_batches,
    _cut_in_row,
    _rename_group,
    _sign_with_own_key,
)


async def test_a_file_that_was_tampered_with_is_refused(
    here: Installation, there: Installation, tmp_path: Path
) -> None:
    await _fill(here)
    lines = (await here.export(tmp_path / "file")).read_text().splitlines()
    for forge in FORGERIES:
        forged = tmp_path / forge.__name__
        forged.write_text("\n".join(forge(lines)) + "\n")
        with pytest.raises(InvalidInput):
            verify_file(forged)
        with pytest.raises((InvalidInput, Conflict)):
            await there.load(forged, trust=fingerprint(here.public_key))
        texts = {row[6] for row in there.rows("promotions")}
        assert texts <= {PILOT, OLD_LEDGER, LEDGER}, "only what was signed, whoever sends the batches"


async def test_a_file_that_ends_early_is_noticed(here: Installation, there: Installation, tmp_path: Path) -> None:
    await _fill(here)
    cut = tmp_path / "cut"
    cut.write_text("\n".join(_cut_off((await here.export(tmp_path / "file")).read_text().splitlines())) + "\n")
    with pytest.raises(InvalidInput, match="not complete"):
        verify_file(cut)
    results = await there.load(cut, trust=fingerprint(here.public_key))
    assert not any(one.finished for one in results)


async def test_a_stranger_signs_for_nobody(here: Installation, there: Installation, tmp_path: Path) -> None:
    await _fill(here)
    lines = (await here.export(tmp_path / "file")).read_text().splitlines()
    stranger = SigningKey.generate()
    header = write_line({**json.loads(lines[0]), "public_key": stranger.public_key})
    forged = tmp_path / "forged"
    forged.write_text("\n".join(_sign(_change_text(lines), stranger, header=header)) + "\n")
    verify_file(forged)
    for trust in (None, fingerprint(here.public_key), fingerprint(here.public_key)[:8], ""):
        with pytest.raises(Conflict, match="another installation"):
            await there.load(forged, trust=trust)
    assert there.count("promotions") == 0
    refusals = await there.memory.audit_events(group=GROUP)
    assert {event.action for event in refusals} == {"refused"}


async def test_only_a_person_with_both_rights_imports_and_exports(
    here: Installation, there: Installation, tmp_path: Path
) -> None:
    await _fill(here)
    path, trust = await here.export(tmp_path / "file"), fingerprint(here.public_key)
    both = frozenset({Right.ADMIN, Right.REVIEW})
    for caller in (
        Principal(name="k", rights=frozenset({Right.ADMIN}), groups=None),
        Principal(name="k", rights=frozenset({Right.REVIEW}), groups=None),
        Principal(name="k", rights=both, groups=frozenset({"other"})),
        Principal(name="k", rights=both, groups=None, agent_id="a1"),
        PERSON.lowered(),
    ):
        with pytest.raises(NotAllowed):
            await there.load(path, trust=trust, by=caller)
        with pytest.raises(NotAllowed):
            here.clearwell.memory.acting_as(caller).export_group(group=GROUP)
    assert there.count("quarantine_logs") == 0
    owner = Principal(name="k", rights=both, groups=frozenset({GROUP}))
    assert (await there.load(path, trust=trust, by=owner))[-1].finished


async def test_a_group_that_is_in_use_is_not_merged(here: Installation, there: Installation, tmp_path: Path) -> None:
    await _fill(here)
    await there.memory.promote("This group is another one with the same name.", group=GROUP)
    path = await here.export(tmp_path / "file")
    with pytest.raises(Conflict, match="in use here"):
        await there.load(path, trust=fingerprint(here.public_key))
    assert there.count("quarantine_logs") == 0


async def test_rows_that_name_another_group_stay_in_theirs(
    here: Installation, there: Installation, tmp_path: Path
) -> None:
    """Even a trusted installation writes nothing but the group of its export."""
    await _fill(here)
    await there.memory.promote("The other group has a memory of its own.", group="other")
    before = there.rows("memories")
    key = SigningKey.generate()
    lines = (await here.export(tmp_path / "file")).read_text().splitlines()
    header = write_line({**json.loads(lines[0]), "public_key": key.public_key})
    moved = [line.replace('"group_id":"harbour"', '"group_id":"other"') for line in lines]
    forged = tmp_path / "forged"
    forged.write_text("\n".join(_sign(moved, key, header=header)) + "\n")
    await there.load(forged, trust=fingerprint(key.public_key))
    with psycopg.connect(there.url) as owner:
        groups = owner.execute("SELECT DISTINCT group_id FROM promotions ORDER BY 1").fetchall()
    assert groups == [("harbour",), ("other",)]
    assert [row for row in there.rows("memories") if row[0] == before[0][0]] == before


def _repeat_name(line: str) -> str:
    return line[:-1] + ',"kind":"memory"}'


DAMAGES: tuple[Callable[[ImportBatch], ImportBatch], ...] = (
    lambda batch: replace(batch, header="x" * 5000),
    lambda batch: replace(batch, header="[]"),
    lambda batch: replace(batch, header='{"clearwell":"export","format":2}'),
    lambda batch: replace(batch, header="[" * 3000),
    lambda batch: replace(batch, seal="{}"),
    lambda batch: replace(batch, seal="[" * 100_000),
    lambda batch: replace(batch, seal=batch.lines[0]),
    lambda batch: replace(batch, lines=(_repeat_name(batch.lines[0]),)),
    lambda batch: replace(batch, previous="0" * 64),
)


async def test_nonsense_is_refused_in_words(here: Installation, tmp_path: Path) -> None:
    await _fill(here)
    batch = next(batch for _, _, batch in read_batches(await here.export(tmp_path / "file")))
    for damage in DAMAGES:
        with pytest.raises(InvalidInput):
            await here.memory.import_batch(damage(batch), group=GROUP)


async def test_a_retraction_comes_along(here: Installation, there: Installation, tmp_path: Path) -> None:
    await _fill(here)
    found = (await here.memory.retrieve(LEDGER, group=GROUP)).items[0]
    await here.memory.review.withdraw(found.id, group=GROUP, reason="moved")
    await there.load(await here.export(tmp_path / "file"), trust=fingerprint(here.public_key))
    assert there.rows("memories") == here.rows("memories")
    assert found.id not in {one.id for one in (await there.memory.retrieve(LEDGER, group=GROUP)).items}
