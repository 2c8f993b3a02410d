"""What the database itself refuses. Each refusal has a control that shows the statement is right except the role."""

from collections.abc import Iterator
from typing import LiteralString

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from tests.conftest import with_login

QUARANTINE: LiteralString = """
    INSERT INTO quarantine_logs
        (group_id, id, node_type, content, raw_metadata, partial, occurred_at, created_at, captured_by)
    VALUES ('g', gen_random_uuid(), 'agent', 'secret', '{}', false, now(), now(), 'me')"""
PROMOTION: LiteralString = """
    INSERT INTO promotions (group_id, id, memory_id, scope, origin, content, metadata, decided_by, decided_at)
    VALUES ('g', '00000000-0000-0000-0000-000000000001', gen_random_uuid(), 'group', 'typed', 'x', '{}', 'me', now())"""
MEMORY: LiteralString = """
    INSERT INTO memories
        (group_id, id, chunk_no, promotion_id, scope, content, embedding, embedding_model, metadata, promoted_at)
    VALUES
        ('g', gen_random_uuid(), 0, '00000000-0000-0000-0000-000000000001', 'group', 'x', '[1,2]', 'm', '{}', now())"""
WAITS: LiteralString = """
    INSERT INTO promotion_work (group_id, promotion_id, next_try_at) SELECT group_id, id, now() FROM promotions"""
PATH: tuple[LiteralString, ...] = (
    "quarantine_logs",
    "admissions",
    "ingress_verdicts",
    "quarantine_vectors",
    "statements",
    "sightings",
    "promotions",
    "memories",
)
ROLES: tuple[LiteralString, ...] = ("clearwell_agent", "clearwell_reviewer", "clearwell_worker")


@pytest.fixture(params=["superuser", "plain"])
def connection(request: pytest.FixtureRequest, database_url: str) -> Iterator[psycopg.Connection]:
    """A connection as the program makes it, with a superuser's login and with a plain one."""
    url = database_url
    with psycopg.connect(database_url, autocommit=True) as owner:
        if request.param == "plain":
            owner.execute("DROP ROLE IF EXISTS plain_program")
            owner.execute("CREATE ROLE plain_program LOGIN NOINHERIT")
            owner.execute("GRANT clearwell_app TO plain_program")
            url = with_login(database_url, "plain_program")
        with psycopg.connect(url, autocommit=True) as program:
            program.execute("SET ROLE clearwell_app")
            yield program
        if request.param == "plain":
            owner.execute("DROP ROLE plain_program")


def enter(connection: psycopg.Connection, role: str, group_id: str = "g") -> None:
    connection.execute("SELECT set_config('role', %s, true), set_config('clearwell.group', %s, true)", (role, group_id))


def test_a_statement_without_a_role_is_refused(connection: psycopg.Connection) -> None:
    for table in PATH:
        with pytest.raises(InsufficientPrivilege):
            connection.execute(b"SELECT count(*) FROM " + table.encode())
        with connection.transaction():
            enter(connection, "clearwell_reviewer")
            connection.execute(b"SELECT count(*) FROM " + table.encode())


def test_the_role_ends_with_the_transaction(connection: psycopg.Connection) -> None:
    with connection.transaction():
        enter(connection, "clearwell_agent")
        connection.execute("SELECT count(*) FROM memories")
    with pytest.raises(InsufficientPrivilege):
        connection.execute("SELECT count(*) FROM memories")


def test_without_a_group_nothing_is_visible_and_nothing_can_be_written(
    connection: psycopg.Connection, database_url: str
) -> None:
    fill(database_url)
    for role in ROLES:
        for table in PATH:
            for group_id, expected in (("", 0), ("other", 0), ("g", 1)):
                if role == "clearwell_agent" and table != "memories":
                    continue
                with connection.transaction():
                    enter(connection, role, group_id)
                    rows = connection.execute(b"SELECT count(*) FROM " + table.encode()).fetchone()
                assert rows == (expected,), (role, table, group_id)
    with pytest.raises(InsufficientPrivilege, match="row-level security"), connection.transaction():
        enter(connection, "clearwell_agent", "other")
        connection.execute(QUARANTINE)


def fill(database_url: str) -> None:
    """One row of the group g in every table of the path; settled, so that the worker has no work."""
    with psycopg.connect(database_url) as owner:
        owner.execute(QUARANTINE)
        owner.execute("INSERT INTO admissions SELECT group_id, id, 'admitted', 1, now(), now() FROM quarantine_logs")
        owner.execute(
            "INSERT INTO ingress_verdicts SELECT group_id, id, now(), 0, 'c', 'pass', '1', 1, 'r' FROM quarantine_logs"
        )
        owner.execute("INSERT INTO quarantine_vectors SELECT group_id, id, 'm', '[1,2]' FROM quarantine_logs")
        owner.execute("INSERT INTO statements SELECT group_id, id, 0, 0, 6, 'claim' FROM quarantine_logs")
        owner.execute(
            "INSERT INTO sightings SELECT group_id, id, id, 'working', NULL, NULL, now() FROM quarantine_logs"
        )
        owner.execute(PROMOTION)
        owner.execute(MEMORY)


PENDING: LiteralString = """
    INSERT INTO admissions (group_id, log_id, state, next_try_at) VALUES ('g', gen_random_uuid(), 'pending', now())"""
LEASED: LiteralString = """
    INSERT INTO admissions (group_id, log_id, state, next_try_at, leased_by, leased_until)
    VALUES ('g', gen_random_uuid(), 'pending', now(), gen_random_uuid(), now() + interval '1 day')"""


def test_only_the_worker_leases_admissions(connection: psycopg.Connection) -> None:
    lease: LiteralString = "UPDATE admissions SET leased_by = gen_random_uuid(), leased_until = now()"
    with pytest.raises(InsufficientPrivilege, match="row-level security"), connection.transaction():
        enter(connection, "clearwell_agent")
        connection.execute(LEASED)
    with connection.transaction():
        enter(connection, "clearwell_agent")
        connection.execute(PENDING)
    for role in ("clearwell_agent", "clearwell_reviewer", "clearwell_operator"):
        with pytest.raises(InsufficientPrivilege), connection.transaction():
            enter(connection, role)
            connection.execute(lease)
    with connection.transaction():
        enter(connection, "clearwell_worker")
        assert connection.execute(lease).rowcount == 1


def test_an_agent_cannot_promote(connection: psycopg.Connection) -> None:
    for statement in (PROMOTION, MEMORY):
        with pytest.raises(InsufficientPrivilege, match="permission denied"), connection.transaction():
            enter(connection, "clearwell_agent")
            connection.execute(statement)
    with connection.transaction():
        enter(connection, "clearwell_reviewer")
        connection.execute(PROMOTION)
        connection.execute(MEMORY)


def test_an_agent_cannot_read_what_was_captured(connection: psycopg.Connection) -> None:
    with connection.transaction():
        enter(connection, "clearwell_agent")
        connection.execute(QUARANTINE)
        assert connection.execute("SELECT count(id) FROM quarantine_logs").fetchone() == (1,)
    for column in (b"content", b"raw_metadata", b"*", b"session_id"):
        with pytest.raises(InsufficientPrivilege, match="permission denied"), connection.transaction():
            enter(connection, "clearwell_agent")
            connection.execute(b"SELECT " + column + b" FROM quarantine_logs")
    with connection.transaction():
        enter(connection, "clearwell_reviewer")
        assert connection.execute("SELECT content FROM quarantine_logs").fetchone() == ("secret",)


def test_the_worker_writes_chunks_of_a_promotion_but_decides_none(connection: psycopg.Connection) -> None:
    with pytest.raises(InsufficientPrivilege, match="permission denied"), connection.transaction():
        enter(connection, "clearwell_worker")
        connection.execute(PROMOTION)
    with connection.transaction():
        enter(connection, "clearwell_reviewer")
        connection.execute(PROMOTION)
    with pytest.raises(InsufficientPrivilege, match="worker_writes_what_waits"), connection.transaction():
        enter(connection, "clearwell_worker")
        connection.execute(MEMORY)
    with connection.transaction():
        enter(connection, "clearwell_reviewer")
        connection.execute(WAITS)
    with connection.transaction():
        enter(connection, "clearwell_worker")
        connection.execute(MEMORY)


DECISION: LiteralString = """
    INSERT INTO decisions (group_id, id, action, promotion_id, memory_id, supersedes, decided_by, decided_at)
    SELECT m.group_id, gen_random_uuid(), 'promote', p.id, p.memory_id, m.id, 'me', now()
    FROM memories m JOIN promotions p ON p.id = m.promotion_id"""
SUPERSEDE: LiteralString = "SELECT count(*) FROM clearwell_supersede('00000000-0000-0000-0000-000000000001', now())"


def test_the_worker_withdraws_only_what_a_waiting_decision_replaces(connection: psycopg.Connection) -> None:
    with connection.transaction():
        enter(connection, "clearwell_reviewer")
        connection.execute(PROMOTION)
        connection.execute(MEMORY)
    for role in ("clearwell_agent", "clearwell_reviewer"):
        with pytest.raises(InsufficientPrivilege, match="permission denied"), connection.transaction():
            enter(connection, role)
            connection.execute(SUPERSEDE)
    with pytest.raises(InsufficientPrivilege, match="permission denied"), connection.transaction():
        enter(connection, "clearwell_worker")
        connection.execute("UPDATE memories SET valid_to = now()")
    for needed in ("SELECT", WAITS, DECISION):
        with connection.transaction():
            enter(connection, "clearwell_worker")
            assert connection.execute(SUPERSEDE).fetchone() == (0,)
        with connection.transaction():
            enter(connection, "clearwell_reviewer")
            connection.execute(needed)
    for group_id, withdrawn in (("other", 0), ("g", 1)):
        with connection.transaction():
            enter(connection, "clearwell_worker", group_id)
            assert connection.execute(SUPERSEDE).fetchone() == (withdrawn,)


def test_an_agent_can_mark_no_capture_as_admitted(connection: psycopg.Connection) -> None:
    admit = "INSERT INTO admissions SELECT group_id, id, %s, 0, now(), %s FROM quarantine_logs"
    with connection.transaction():
        enter(connection, "clearwell_agent")
        connection.execute(QUARANTINE)
    with pytest.raises(InsufficientPrivilege, match="agent_captures_pending"), connection.transaction():
        enter(connection, "clearwell_agent")
        connection.execute(admit, ("admitted", "2026-01-01T00:00:00Z"))
    with connection.transaction():
        enter(connection, "clearwell_agent")
        connection.execute(admit, ("pending", None))


CHANGES = (
    b"UPDATE quarantine_logs SET content = ''",
    b"DELETE FROM quarantine_logs",
    b"DELETE FROM ingress_verdicts",
    b"UPDATE promotions SET content = ''",
    b"DELETE FROM memories",
    b"DELETE FROM audit_events",
    b"TRUNCATE quarantine_logs CASCADE",
    b"UPDATE audit_events SET actor = 'somebody else'",
)


def test_what_is_kept_cannot_be_changed(connection: psycopg.Connection) -> None:
    for role in (*ROLES, "clearwell_operator"):
        for change in CHANGES:
            with pytest.raises(InsufficientPrivilege, match="permission denied"), connection.transaction():
                enter(connection, role)
                connection.execute(change)


def test_the_eraser_changes_neither_the_audit_nor_what_an_output_says(connection: psycopg.Connection) -> None:
    for change in (CHANGES[0], *CHANGES[5:]):
        with pytest.raises(InsufficientPrivilege, match="permission denied"), connection.transaction():
            enter(connection, "clearwell_eraser")
            connection.execute(change)


def test_only_the_key_look_up_works_without_a_role(connection: psycopg.Connection) -> None:
    assert connection.execute("SELECT any_key_ever FROM clearwell_find_key('x')").fetchone() == (False,)
    with pytest.raises(InsufficientPrivilege):
        connection.execute("SELECT secret_hash FROM api_keys")
    for role in ROLES:
        with pytest.raises(InsufficientPrivilege), connection.transaction():
            enter(connection, role)
            connection.execute("SELECT secret_hash FROM api_keys")


KEY: LiteralString = """
    INSERT INTO api_keys (id, name, secret_hash, rights, created_at)
    VALUES (gen_random_uuid(), 'k', sha256('x'), '{read}', now())"""
RAISES: tuple[LiteralString, ...] = (
    "UPDATE api_keys SET rights = '{read,review}'",
    "UPDATE api_keys SET groups = NULL",
    "UPDATE api_keys SET agent_id = NULL",
    "UPDATE api_keys SET secret_hash = sha256('y')",
    "DELETE FROM api_keys",
)


def test_no_role_raises_the_rights_of_a_key(connection: psycopg.Connection) -> None:
    """The operator makes keys and revokes them; what a key may do never changes."""
    roles = ("clearwell_agent", "clearwell_reviewer", "clearwell_worker", "clearwell_eraser", "clearwell_operator")
    for role in roles:
        for statement in (KEY, "UPDATE api_keys SET revoked_at = NULL")[: 0 if role == "clearwell_operator" else 2]:
            with pytest.raises(InsufficientPrivilege, match="permission denied"), connection.transaction():
                enter(connection, role)
                connection.execute(statement)
        for statement in RAISES:
            with pytest.raises(InsufficientPrivilege, match="permission denied"), connection.transaction():
                enter(connection, role)
                connection.execute(statement)
    with connection.transaction():
        enter(connection, "clearwell_operator")
        connection.execute(KEY)
        assert connection.execute("UPDATE api_keys SET revoked_at = now()").rowcount == 1


def test_every_table_with_a_group_is_guarded(database_url: str) -> None:
    """Also those that a later migration adds."""
    with psycopg.connect(database_url) as owner:
        rows = owner.execute("""
            SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'group_id'
            WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace""").fetchall()
    assert {name for name, _ in rows} >= set(PATH)
    assert [name for name, guarded in rows if not guarded] == []


def test_only_the_operator_says_what_groups_and_agents_are_told(connection: psycopg.Connection) -> None:
    """And the worker reads of a group no more than when its digest is due."""
    group: LiteralString = (
        "INSERT INTO groups (group_id, system_prompt, created_at, updated_at) VALUES ('g', 'x', now(), now())"
    )
    agent: LiteralString = (
        "INSERT INTO agents (group_id, agent_id, persona, created_at, updated_at) VALUES ('g', 'a', 'x', now(), now())"
    )
    for role in ROLES:
        for statement in (group, agent, "UPDATE groups SET system_prompt = 'y'", "DELETE FROM agents"):
            with pytest.raises(InsufficientPrivilege), connection.transaction():
                enter(connection, role)
                connection.execute(statement)
    with connection.transaction():
        enter(connection, "clearwell_operator")
        connection.execute(group)
        connection.execute(agent)
    with pytest.raises(InsufficientPrivilege), connection.transaction():
        enter(connection, "clearwell_worker", "")
        connection.execute("SELECT system_prompt FROM groups")
    with connection.transaction():
        enter(connection, "clearwell_worker", "")
        found = connection.execute("SELECT group_id, digest_cron, digest_zone FROM groups").fetchall()
    assert found == [("g", None, None)]
    with connection.transaction():
        enter(connection, "clearwell_agent", "other")
        assert connection.execute("SELECT count(*) FROM groups").fetchone() == (0,)


DIGEST: LiteralString = """
    INSERT INTO digests (group_id, id, status, requested_by, created_at)
    VALUES ('g', '00000000-0000-0000-0000-000000000009', 'queued', 'me', now())"""


def test_only_the_worker_leases_digests(connection: psycopg.Connection) -> None:
    """A digest's row is its job: who can neither insert nor change one cannot queue work."""
    with connection.transaction():
        enter(connection, "clearwell_reviewer")
        connection.execute(DIGEST)
    lease: LiteralString = "UPDATE digests SET leased_until = now(), next_try_at = now()"
    for role in ("clearwell_app", "clearwell_agent", "clearwell_reviewer", "clearwell_operator", "clearwell_eraser"):
        with pytest.raises(InsufficientPrivilege), connection.transaction():
            enter(connection, role)
            connection.execute(lease)
    for role in ("clearwell_app", "clearwell_agent", "clearwell_operator", "clearwell_eraser"):
        with pytest.raises(InsufficientPrivilege), connection.transaction():
            enter(connection, role)
            connection.execute(DIGEST)
    with connection.transaction():
        enter(connection, "clearwell_worker")
        assert connection.execute(lease).rowcount == 1


def test_the_worker_can_only_merge_an_open_insight_into_another(connection: psycopg.Connection) -> None:
    insight: LiteralString = (
        "INSERT INTO insights (group_id, id, digest_id, position, summary, written_by, created_at, changed_at)"
        " VALUES ('g', %s, '00000000-0000-0000-0000-000000000009', 1, 's', 'extractive', now(), now())"
    )
    ids = [f"00000000-0000-0000-0000-0000000000{number}" for number in (11, 12)]
    with connection.transaction():
        enter(connection, "clearwell_reviewer")
        connection.execute(DIGEST)
    with connection.transaction():
        enter(connection, "clearwell_worker")
        for one in ids:
            connection.execute(insight, (one,))
    refused: list[LiteralString] = [
        "UPDATE insights SET state = 'promoted'",
        "UPDATE insights SET state = 'rejected'",
        "UPDATE insights SET summary = 'another'",
        "UPDATE insights SET version = version + 1",
        "DELETE FROM insights",
    ]
    for statement in refused:
        with pytest.raises(InsufficientPrivilege), connection.transaction():
            enter(connection, "clearwell_worker")
            connection.execute(statement)
    merge: LiteralString = "UPDATE insights SET state = 'merged', merged_into = %s WHERE id = %s"
    with connection.transaction():
        enter(connection, "clearwell_worker")
        assert connection.execute(merge, (ids[1], ids[0])).rowcount == 1
        assert connection.execute(merge, (ids[0], ids[0])).rowcount == 0, "it is merged already"


def test_an_agent_can_neither_ask_for_a_digest_nor_see_one(connection: psycopg.Connection) -> None:
    for statement in (DIGEST, "SELECT count(*) FROM digests", "SELECT count(*) FROM insights"):
        with pytest.raises(InsufficientPrivilege), connection.transaction():
            enter(connection, "clearwell_agent")
            connection.execute(statement)
    with connection.transaction():
        enter(connection, "clearwell_reviewer")
        connection.execute(DIGEST)


def test_a_digest_is_found_without_its_group_only_by_its_name(connection: psycopg.Connection) -> None:
    with connection.transaction():
        enter(connection, "clearwell_reviewer")
        connection.execute(DIGEST)
    for named, seen in (
        ("", 0),
        ("00000000-0000-0000-0000-000000000008", 0),
        ("00000000-0000-0000-0000-000000000009", 1),
    ):
        with connection.transaction():
            enter(connection, "clearwell_reviewer", "")
            connection.execute("SELECT set_config('clearwell.digest', %s, true)", (named,))
            assert connection.execute("SELECT count(*) FROM digests").fetchone() == (seen,)
            assert connection.execute("SELECT count(*) FROM insights").fetchone() == (0,)
