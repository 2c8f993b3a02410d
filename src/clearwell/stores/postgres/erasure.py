"""Forgetting, in the eraser's role: reads every text of a group, and erases in one transaction."""

import json
import re
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from clearwell.ports import ErasureStore, Ids, SparseEncoder
from clearwell.records import (
    ASSIGN,
    UNASSIGNED,
    AssignedCopy,
    AuditEvent,
    ErasableOutput,
    ErasableText,
    ErasurePlan,
    ForgetReceipt,
    StoredForget,
)
from clearwell.stores.postgres.connection import SqlStatement, StatementRunner
from clearwell.stores.postgres.database import Database, Role
from clearwell.stores.postgres.lexical_index import reindex_sessions
from clearwell.stores.postgres.queries import query
from clearwell.stores.postgres.rows import event_params

PAGE: Final = 500
FORGOTTEN_QUOTATION: Final = "verdict_quotation_forgotten"
"""The reason of a verdict that quoted what was forgotten."""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class PostgresErasure(ErasureStore):
    def __init__(self, database: Database, encoder: SparseEncoder, ids: Ids) -> None:
        self._database = database
        self._encoder = encoder
        self._ids = ids

    async def outputs(self, group_id: str, *, after: UUID | None = None) -> AsyncIterator[Sequence[ErasableOutput]]:
        while True:
            params = {"group_id": group_id, "after": after, "limit": PAGE}
            rows = await self._database.run(Role.ERASER, group_id, query("erasable_outputs"), params)
            if not rows:
                return
            yield [ErasableOutput(**row) for row in rows]
            after = rows[-1]["id"]

    async def find_originals(self, ids: Sequence[UUID]) -> Sequence[UUID]:
        params = {"group_id": UNASSIGNED, "ids": list(ids)}
        rows = await self._database.run(Role.ERASER, UNASSIGNED, query("existing_rows"), params)
        return [row["id"] for row in rows]

    async def find_assigned(self, originals: Sequence[UUID], *, among: AbstractSet[str] | None) -> list[AssignedCopy]:
        """Groups see only their own rows, so that each is asked by itself."""
        named = {"among": None if among is None else sorted(among)}
        groups = await self._database.run(Role.OPERATOR, None, query("list_groups"), named)
        keys = [f"{ASSIGN} {one}" for one in originals]
        found: list[AssignedCopy] = []
        for group_id in [row["group_id"] for row in groups]:
            params = {"group_id": group_id, "keys": keys}
            rows = await self._database.run(Role.ERASER, group_id, query("assigned_rows"), params)
            found += [AssignedCopy(**row) for row in rows]
        return found

    async def insights(self, group_id: str) -> Sequence[ErasableText]:
        return [
            ErasableText(
                id=row["id"],
                texts=(row["summary"], row["sentences"], row["statements"]),
                refers_to=frozenset(row["sources"]),
                quotes=_find_ids(row["quoted"]),
                quoted=row["quoted"],
            )
            for row in await self._read(group_id, "erasable_insights")
        ]

    async def promotions(self, group_id: str) -> Sequence[tuple[UUID, ErasableText]]:
        return [
            (
                row["memory_id"],
                ErasableText(
                    id=row["id"],
                    texts=(row["content"], row["extra"]),
                    refers_to=frozenset(row["refers_to"]),
                ),
            )
            for row in await self._read(group_id, "erasable_promotions")
        ]

    async def decisions(self, group_id: str) -> Sequence[ErasableText]:
        return [
            ErasableText(id=row["id"], texts=(row["content"],), refers_to=frozenset(row["refers_to"]))
            for row in await self._read(group_id, "erasable_decisions")
        ]

    async def quoting_verdicts(self, group_id: str) -> Sequence[ErasableText]:
        return [
            ErasableText(id=row["log_id"], texts=(row["content"],), refers_to=_find_ids(row["content"]))
            for row in await self._read(group_id, "erasable_verdicts")
        ]

    async def tombstones(self, group_id: str) -> Mapping[bytes, tuple[UUID, str]]:
        rows = await self._read(group_id, "erasable_tombstones")
        return {bytes(row["value_hash"]): (row["id"], row["reason"]) for row in rows}

    async def profiles(self, group_id: str) -> tuple[str, Mapping[str, str]]:
        texts = {row["agent_id"]: row["content"] for row in await self._read(group_id, "erasable_profiles")}
        return texts.pop("", ""), texts

    async def count_copies(self, group_id: str, plan: ErasurePlan) -> Mapping[str, int]:
        params = {
            "group_id": group_id,
            "outputs": [*plan.outputs, *plan.later],
            "promotions": list(plan.promotions),
            "patterns": _make_patterns(plan),
        }
        (row,) = await self._database.run(Role.ERASER, group_id, query("count_erased_copies"), params)
        return row

    async def erase(self, plan: ErasurePlan, receipt: ForgetReceipt, *, event: AuditEvent) -> StoredForget:
        params = {
            "group_id": receipt.group_id,
            **{kind: list(ids) for kind, ids in plan.ids.items()},
            "outputs": [*plan.outputs, *plan.later],
            "released": list(plan.released),
            "agents": list(plan.agents),
            "profile": plan.profile,
            "verdict": FORGOTTEN_QUOTATION,
            "by": receipt.by,
            "at": receipt.at,
        }
        locks = [(query("alone_in_group"), params), (query("alone_in_longterm"), params)]
        async with self._database.transaction(Role.ERASER, receipt.group_id) as transaction:
            # The first lock lets one forget of a group run at a time, so that each token is used once.
            named = {"group_id": receipt.group_id, "token": plan.token}
            *_, done = await transaction.run([*locks, (query("find_forget"), named)])
            if done:
                return _forget_of(done[0])
            (chunks,) = await transaction.run([(query("erase_memories"), params)])
            await reindex_sessions(transaction, self._encoder, receipt.group_id, chunks, by=-1)
            await transaction.run(
                [
                    *((query(name), params) for name in ERASURES),
                    self._forgotten(plan, receipt),
                    (query("erase_answers"), {"patterns": _make_patterns(plan)}),
                    (query("add_forget"), _forget_params(plan, receipt)),
                    (query("add_event"), event_params(event, self._database.signer)),
                ]
            )
            if plan.originals:
                await self._erase_originals(transaction, plan, event)
        return StoredForget(receipt=receipt, token=plan.token, agents=plan.agents)

    async def _erase_originals(self, transaction: StatementRunner, plan: ErasurePlan, event: AuditEvent) -> None:
        """Erase the outputs without a group from which forgotten ones were assigned, in the reserved group."""
        nothing: dict[str, list[UUID]] = {"insights": [], "memories": [], "released": []}
        params = {"group_id": UNASSIGNED, "outputs": list(plan.originals), **nothing}
        own = replace(event, id=self._ids.new(), group_id=UNASSIGNED)
        await transaction.run(
            [
                (query("enter"), {"role": Role.ERASER, "group_id": UNASSIGNED}),
                *((query(name), params) for name in ("alone_in_group", "erase_sources", "erase_outputs", "erase_rows")),
                (query("add_event"), event_params(own, self._database.signer)),
            ]
        )

    async def find(self, group_id: str, token: str) -> StoredForget | None:
        params = {"group_id": group_id, "token": token}
        rows = await self._database.run(Role.ERASER, group_id, query("find_forget"), params)
        return _forget_of(rows[0]) if rows else None

    async def find_unfinished(self) -> Sequence[StoredForget]:
        rows = await self._database.run(Role.ERASER, None, query("unfinished_forgets"))
        return [_forget_of(row) for row in rows]

    async def finish(self, group_id: str, forget_id: UUID, *, at: datetime) -> None:
        params = {"group_id": group_id, "id": forget_id, "at": at}
        await self._database.run(Role.ERASER, group_id, query("finish_forget"), params)

    async def generation(self) -> int:
        (row,) = await self._database.run(Role.ERASER, None, query("forget_generation"))
        return int(row["forgets"])

    async def _read(self, group_id: str, name: str) -> list[DictRow]:
        return await self._database.run(Role.ERASER, group_id, query(name), {"group_id": group_id})

    def _forgotten(self, plan: ErasurePlan, receipt: ForgetReceipt) -> SqlStatement:
        return query("add_forgotten"), {
            "group_id": receipt.group_id,
            "ids": [self._ids.new() for _ in plan.value_hashes],
            "value_hashes": list(plan.value_hashes),
            "by": receipt.by,
            "at": receipt.at,
        }


ERASURES: Final = (
    "erase_memory_marks",
    "erase_empty_terms",
    "erase_promotions",
    "erase_decisions",
    "erase_sources",
    "erase_undecided_insights",
    "erase_insights",
    "erase_quotations",
    "erase_outputs",
    "erase_rows",
    "erase_verdicts",
    "erase_tombstones",
    "erase_profiles",
)
"""The statements of an erasure, in the order that foreign keys need."""


def _find_ids(text: str) -> frozenset[UUID]:
    return frozenset(uuid.UUID(one) for one in _ID.findall(text))


def _make_patterns(plan: ErasurePlan) -> list[str]:
    """The patterns of stored answers that name something of the plan."""
    return [f"%{one}%" for ids in plan.ids.values() for one in ids]


def _forget_params(plan: ErasurePlan, receipt: ForgetReceipt) -> dict[str, object]:
    stored = {
        **json.loads(receipt.to_bytes()),
        "signature": receipt.signature,
        "public_key": receipt.public_key,
    }
    return {
        "group_id": receipt.group_id,
        "id": receipt.id,
        "token": plan.token,
        "receipt": Jsonb(stored),
        "agents": list(plan.agents),
        "at": receipt.at,
    }


def _forget_of(row: DictRow) -> StoredForget:
    stored = row["receipt"]
    receipt = ForgetReceipt(
        id=UUID(stored["id"]),
        group_id=stored["group_id"],
        kind=stored["kind"],
        at=datetime.fromisoformat(stored["at"]),
        by=stored["by"],
        counts=stored["counts"],
        outputs=tuple(map(UUID, stored["outputs"])),
        memories=tuple(map(UUID, stored["memories"])),
        released=tuple(map(UUID, stored["released"])),
        originals=tuple(map(UUID, stored.get("originals", ()))),
        tombstones=stored["tombstones"],
        signature=stored["signature"],
        public_key=stored["public_key"],
    )
    return StoredForget(
        receipt=receipt, token=row["token"], agents=tuple(row["agents"]), done=row["finished_at"] is not None
    )
