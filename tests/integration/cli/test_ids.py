"""Short ids: every command that takes an id takes the end of one, in its group alone."""

import asyncio

import psycopg
import pytest

from tests.integration.cli.program import Program

SAID = "The nightly backup of the billing database takes eleven minutes since the new disks."


@pytest.fixture
def row(served: Program) -> str:
    return str(served.good("capture", "-g", "g", "--agent", "a1", "--confidence", "0.9", "--json", SAID).json["id"])


def test_a_short_id_is_accepted_in_its_own_group(served: Program, row: str) -> None:
    short = row[-8:]
    assert served.good("explain", short, "-g", "g", "--json").json["id"] == row
    assert f"⚡️ Unverified  {short} · a1 · score" in served.good("query", "-g", "g", "backup of billing").out
    other = served.run("explain", short, "-g", "other")
    assert other.code == 1
    assert other.err.startswith(f"✗ There is no output {short} in the group other.")
    assert served.good("working", "remove", short, "-g", "g", "--json").json["id"] == row
    promoted = served.good("review", "promote", "--from", "quarantine", short.upper(), "-g", "g", "--json").json
    memory = promoted["results"][0]["id"]
    assert memory[-8:] in served.good("memories", "list", "-g", "g").out
    assert served.good("memories", "show", memory[-12:], "-g", "g").out.startswith(f"verified  {memory[-8:]}")
    is_output = served.run("review", "promote", short, "-g", "g")
    assert f"{short} is not an insight but an output of the group g." in is_output.err
    withdrawn = served.good("memories", "withdraw", memory[-8:], "-g", "g", "--reason", "outdated", "--json").json
    undone = served.good("review", "undo", withdrawn["decision_id"][-8:], "-g", "g", "--json").json
    assert undone["results"][0]["undone"] == "retract"


def test_an_ambiguous_short_id_is_refused_with_the_candidates(served: Program, row: str, database_url: str) -> None:
    other = f"{'0' if row[0] == '1' else '1'}{row[1:]}"

    async def copy_row() -> None:
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            await connection.execute("SELECT set_config('clearwell.group', 'g', false)")
            await connection.execute(
                "INSERT INTO quarantine_logs SELECT (q.x).* FROM (SELECT jsonb_populate_record(l, "
                "jsonb_build_object('id', %s::text)) AS x FROM quarantine_logs l WHERE l.group_id = 'g') q",
                [other],
            )

    asyncio.run(copy_row())
    refused = served.run("explain", row[-8:], "-g", "g")
    assert refused.code == 2
    assert refused.err.startswith(f"✗ More than one ID ends with {row[-8:]}.")
    assert row in refused.err
    assert other in refused.err
    assert served.good("explain", row, "-g", "g", "--json").json["id"] == row


def test_keys_and_digests_are_named_by_short_ids(served: Program) -> None:
    served.good("ingest", "-g", "g", "The harbour office in Lindau opens at seven in the morning.")
    digest = served.good("digest", "run", "-g", "g", "--json").json["id"]
    assert served.good("digest", "show", digest[-8:], "-g", "g", "--json").json["id"] == digest
    assert "add --group GROUP, or pass the whole ID" in served.run("digest", "show", digest[-8:]).err
    key = served.good("keys", "create", "--scope", "read", "-g", "g", "--json").json["id"]
    assert served.good("keys", "revoke", key[-8:], "--json").json == {"id": key, "revoked": True}
    assert f"no valid key {key[-8:]}" in served.run("keys", "revoke", key[-8:]).err
