"""What the stores hold after a fault, against what was acknowledged: lost, doubled and half-done writes.

The database is read past row-level security, at its own address. Each query returns the rows that break a rule.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
import redis
from psycopg.rows import dict_row

from clearwell.records import WorkingCapacity
from tests.faults.ledger import Kind, Ledger, Write

HALF_DONE = {
    "an output without an admission, or the reverse": """
        SELECT coalesce(q.id, a.log_id) AS id FROM quarantine_logs q
        FULL JOIN admissions a ON a.group_id = q.group_id AND a.log_id = q.id
        WHERE coalesce(q.group_id, a.group_id) = ANY(%(groups)s) AND (q.id IS NULL OR a.log_id IS NULL)""",
    "a settled output without verdicts": """
        SELECT a.log_id AS id FROM admissions a WHERE a.group_id = ANY(%(groups)s) AND a.state <> 'pending'
        AND NOT EXISTS (SELECT FROM ingress_verdicts v WHERE v.group_id = a.group_id AND v.log_id = a.log_id)""",
    "an admitted output without statements": """
        SELECT a.log_id AS id FROM admissions a WHERE a.group_id = ANY(%(groups)s) AND a.state = 'admitted'
        AND NOT EXISTS (SELECT FROM statements s WHERE s.group_id = a.group_id AND s.log_id = a.log_id)""",
    "a promotion without chunks, and none to be made": """
        SELECT p.id FROM promotions p WHERE p.group_id = ANY(%(groups)s) AND p.content <> ''
        AND NOT EXISTS (SELECT FROM memories m WHERE m.group_id = p.group_id AND m.promotion_id = p.id)
        AND NOT EXISTS (SELECT FROM promotion_work w WHERE w.group_id = p.group_id AND w.promotion_id = p.id)""",
    "chunks without a promotion": """
        SELECT m.id FROM memories m WHERE m.group_id = ANY(%(groups)s)
        AND NOT EXISTS (SELECT FROM promotions p WHERE p.group_id = m.group_id AND p.id = m.promotion_id)""",
    "a memory with a gap in its chunks": """
        SELECT m.id FROM memories m WHERE m.group_id = ANY(%(groups)s)
        GROUP BY m.group_id, m.id HAVING count(*) <> max(m.chunk_no) + 1""",
    "a promotion without a decision": """
        SELECT p.id FROM promotions p WHERE p.group_id = ANY(%(groups)s) AND NOT EXISTS (
            SELECT FROM decisions d WHERE d.group_id = p.group_id AND d.promotion_id = p.id)""",
    "a decision without an audit event": """
        SELECT d.id FROM decisions d WHERE d.group_id = ANY(%(groups)s) AND NOT EXISTS (
            SELECT FROM audit_events e WHERE e.group_id = d.group_id AND e.at = d.decided_at)""",
    "an insight that was decided without its decision": """
        SELECT i.id FROM insights i WHERE i.group_id = ANY(%(groups)s) AND i.state IN ('promoted', 'rejected')
        AND NOT EXISTS (SELECT FROM decisions d WHERE d.group_id = i.group_id AND d.insight_id = i.id)""",
    "a rejection without its tombstone": """
        SELECT d.id FROM decisions d WHERE d.group_id = ANY(%(groups)s) AND d.action = 'reject' AND NOT EXISTS (
            SELECT FROM tombstones t WHERE t.group_id = d.group_id AND t.id = d.tombstone_id)""",
    "an insight of a digest that is not done": """
        SELECT i.id FROM insights i LEFT JOIN digests g ON g.group_id = i.group_id AND g.id = i.digest_id
        WHERE i.group_id = ANY(%(groups)s) AND g.status IS DISTINCT FROM 'done'""",
    "counts of terms that differ from the chunks": """
        SELECT g.group_id AS id FROM (SELECT unnest(%(groups)s::text[]) AS group_id) g
        WHERE (SELECT count(*) FROM memories m WHERE m.group_id = g.group_id AND m.valid_to IS NULL)
            <> (SELECT coalesce(sum(t.chunks), 0) FROM group_terms t
                WHERE t.group_id = g.group_id AND t.dimension = 0)""",
}
UNFINISHED = {
    "a promotion that waits": "SELECT promotion_id AS id FROM promotion_work WHERE group_id = ANY(%(groups)s)",
    "a forget that is not finished": """
        SELECT id FROM forgets WHERE group_id = ANY(%(groups)s) AND finished_at IS NULL""",
}
DOUBLED = {
    "an output that is stored twice": """
        SELECT min(id::text) AS id FROM quarantine_logs WHERE group_id = ANY(%(groups)s) AND content <> ''
        GROUP BY group_id, content HAVING count(*) > 1""",
    "a text that is promoted twice": """
        SELECT min(id::text) AS id FROM promotions WHERE group_id = ANY(%(groups)s) AND content <> ''
        GROUP BY group_id, content HAVING count(*) > 1""",
    "an insight that is decided twice": """
        SELECT insight_id AS id FROM decisions WHERE group_id = ANY(%(groups)s) AND insight_id IS NOT NULL
        AND NOT already GROUP BY group_id, insight_id HAVING count(*) > 1""",
    "a request that was carried out twice": """
        SELECT idempotency_key AS id FROM quarantine_logs WHERE group_id = ANY(%(groups)s)
        GROUP BY group_id, captured_by, idempotency_key HAVING count(*) > 1""",
}
UNSETTLED = """
SELECT 'output ' || log_id || ', attempts ' || attempts || ', next at ' || next_try_at || ', leased until '
    || coalesce(leased_until::text, '-') FROM admissions WHERE state = 'pending'
UNION ALL SELECT 'promotion ' || promotion_id || ', attempts ' || attempts || ', next at ' || next_try_at
    FROM promotion_work
UNION ALL SELECT 'digest ' || id || ' ' || status || ', attempts ' || attempts || ', next at '
    || coalesce(next_try_at::text, '-') || ', leased until ' || coalesce(leased_until::text, '-')
    FROM digests WHERE status IN ('queued', 'running')
UNION ALL SELECT 'forget ' || id FROM forgets WHERE finished_at IS NULL
"""
"""The work in the background that is still to be done, in words."""
OUTPUTS = "SELECT id, group_id, content FROM quarantine_logs WHERE group_id = ANY(%(groups)s)"
MEMORIES = """
SELECT p.memory_id AS id, p.content, count(m.id) AS chunks FROM promotions p
LEFT JOIN memories m ON m.group_id = p.group_id AND m.promotion_id = p.id
WHERE p.group_id = ANY(%(groups)s) GROUP BY p.memory_id, p.content"""
ENTRIES = """
SELECT group_id, log_id, settled_at > %(since)s AND place <= %(size)s AS lives FROM (
    SELECT group_id, log_id, settled_at,
        row_number() OVER (PARTITION BY group_id ORDER BY surplus, settled_at DESC, log_id DESC) AS place
    FROM (
        SELECT a.group_id, a.log_id, a.settled_at, row_number() OVER
            (PARTITION BY a.group_id, q.agent_id ORDER BY a.settled_at DESC, a.log_id DESC) > %(agent_size)s AS surplus
        FROM admissions a JOIN quarantine_logs q ON q.group_id = a.group_id AND q.id = a.log_id
        WHERE a.group_id = ANY(%(groups)s) AND a.state = 'admitted' AND a.removed_at IS NULL) AS ranked) AS admitted
"""
"""What was admitted, and whether it must still be in working memory. What has expired may be there a little longer."""


@dataclass(slots=True)
class Damage:
    """What is wrong, in words, by how it is wrong."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    half_done: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.half_done)

    def add(self, other: "Damage") -> None:
        self.lost += other.lost
        self.doubled += other.doubled
        self.half_done += other.half_done


class StoreChecker:
    """Reads both stores at their own addresses."""

    def __init__(self, postgres_url: str, valkey_url: str, *, capacity: WorkingCapacity) -> None:
        self._postgres_url = postgres_url
        self.valkey_url = valkey_url
        self._capacity = capacity

    def list_unsettled(self) -> list[str]:
        """The work in the background that is still to be done, in words."""
        try:
            with psycopg.connect(self._postgres_url, connect_timeout=5) as connection:
                return [str(row[0]) for row in connection.execute(UNSETTLED)]
        except psycopg.OperationalError as error:
            return [str(error)]

    def check(self, ledger: Ledger, groups: Sequence[str], *, since: datetime | None) -> Damage:
        """Compare everything in these groups. Entries of working memory settled before ``since`` have expired.

        Without ``since`` the load goes on meanwhile: only what each transaction must leave whole is compared.
        """
        writes = [write for write in ledger.of(groups) if write.acknowledged]
        damage, size = Damage(), self._capacity.size
        params = {"groups": list(groups), "since": since, "size": size, "agent_size": self._capacity.agent_size}
        with psycopg.connect(self._postgres_url, connect_timeout=5, row_factory=dict_row) as connection:

            def read(statement: str) -> list[dict[str, Any]]:
                return connection.execute(statement.encode(), params).fetchall()

            settled = {} if since is None else UNFINISHED
            for rules, found in (({**HALF_DONE, **settled}, damage.half_done), (DOUBLED, damage.doubled)):
                for rule, statement in rules.items():
                    found += [f"{rule}: {row['id']}" for row in read(statement)]
            outputs = {row["id"]: row["content"] for row in read(OUTPUTS)}
            memories = {row["id"]: row for row in read(MEMORIES)}
            decisions = {row["id"] for row in read("SELECT id FROM decisions WHERE group_id = ANY(%(groups)s)")}
            digests = {row["id"] for row in read("SELECT id FROM digests WHERE group_id = ANY(%(groups)s)")}
            forgets = {row["id"] for row in read("SELECT id FROM forgets WHERE group_id = ANY(%(groups)s)")}
            admitted = {(row["group_id"], row["log_id"]): bool(row["lives"]) for row in read(ENTRIES)}
        forgotten = ledger.find_forgotten()
        damage.lost += _find_lost_outputs(writes, outputs, forgotten)
        damage.lost += _find_lost_memories(writes, memories)
        for kinds, stored in (
            ((Kind.ACCEPT, Kind.REJECT), decisions),
            ((Kind.DIGEST,), digests),
            ((Kind.FORGET,), forgets),
        ):
            damage.lost += [
                f"{write.kind} {write.key}: {write.id} is not there"
                for write in writes
                if write.kind in kinds and write.id is not None and write.id not in stored
            ]
        damage.half_done += [
            f"output {log_id} is there although it was forgotten"
            for write in writes
            for log_id in write.gone
            if log_id in outputs
        ]
        if since is not None:
            self._check_working(groups, admitted, damage)
        return damage

    def _check_working(self, groups: Sequence[str], admitted: dict[tuple[str, UUID], bool], damage: Damage) -> None:
        with redis.Redis.from_url(self.valkey_url, socket_timeout=5) as client:
            lists = {group: _range(client, group) for group in groups}
        there = Counter((group, UUID(json.loads(element)["id"])) for group in groups for element in lists[group])
        damage.doubled += [f"entry {entry} is in working memory twice" for entry, times in there.items() if times > 1]
        damage.lost += [
            f"admitted output {entry} is not in working memory"
            for entry, lives in admitted.items()
            if lives and entry not in there
        ]
        damage.half_done += [
            f"entry {entry} is in working memory and was not admitted" for entry in set(there) - set(admitted)
        ]


def _range(client: "redis.Redis", group: str) -> list[bytes]:
    found = client.lrange(f"wm:{group}", 0, -1)
    assert isinstance(found, list)
    return [element for element in found if isinstance(element, bytes)]


def _find_lost_outputs(writes: Iterable[Write], outputs: dict[UUID, str], forgotten: set[UUID]) -> list[str]:
    return [
        f"{write.kind} {write.key}: output {write.id} is not there as it was sent"
        for write in writes
        if write.kind in (Kind.CAPTURE, Kind.RAW_CAPTURE)
        and write.id is not None
        and write.id not in forgotten
        and outputs.get(write.id) != write.text
    ]


def _find_lost_memories(writes: Iterable[Write], memories: dict[UUID, dict[str, Any]]) -> list[str]:
    lost = []
    for write in writes:
        if write.kind is not Kind.PROMOTE or write.id is None:
            continue
        stored = memories.get(write.id)
        if stored is None or stored["content"] != write.text or stored["chunks"] < write.chunks:
            lost.append(f"{write.kind} {write.key}: memory {write.id} is not there as it was sent")
    return lost
