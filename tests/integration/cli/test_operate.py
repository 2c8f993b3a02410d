"""``migrate``, ``keys``, ``settings``, ``data`` and ``status``."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from tests.integration.cli.program import Program


def test_migrate_says_what_it_did(program: Program, empty_database_url: str) -> None:
    program = program.but(DATABASE_URL=empty_database_url)
    missing = program.chinese().run("query", "-g", "g", "text")
    assert missing.code == 1
    assert "clearwell migrate" in missing.err
    first = program.good("migrate", "--json").json
    assert first["applied"][0] == "0001_roles"
    assert f"There is nothing to do: the schema is at version {first['schema']}" in program.good("migrate").out


def test_the_life_of_keys(program: Program) -> None:
    first = program.run("keys", "create", "--scope", "capture", "--scope", "read", "--group", "a b", "--json")
    assert first.json["key"].startswith("cw_")
    assert first.json["scopes"] == ["capture", "read"]
    assert first.json["groups"] == ["a b"]
    assert "Local mode is now permanently off" in first.err
    assert "keys create --scope read,review --group 'a b'" in first.err
    second = program.good("keys", "create", "--scope", "review,read", "--all-groups", "--name", "Li Wei")
    assert second.err == ""
    assert "cw_" in second.out
    revoked = program.chinese().good("keys", "revoke", first.json["id"])
    assert "本地模式也保持关闭" in revoked.out
    listed = program.good("keys", "list", "--json")
    shown = [(key["name"], key["revoked_at"] is None) for key in listed.json["keys"]]
    assert shown == [("Li Wei", True), ("capture+read", False)]
    assert first.json["key"] not in listed.out


def test_settings_are_shown_with_their_origin_and_without_secrets(program: Program) -> None:
    (program.folder / "clearwell.toml").write_text("hot_limit = 7\n")
    program = program.but(
        DATABASE_URL="postgresql://joe:hush@db/x?sslpassword=hush",
        REDIS_URL="redis://:hush@r/0",
        CLEARWELL_EMBEDDING_API_KEY="hush",
    )
    shown = program.good("settings", "--json").json
    assert shown["hot_limit"] == {"value": 7, "variable": "CLEARWELL_HOT_LIMIT", "origin": "file", "changed": True}
    assert shown["port"]["origin"] == "default"
    assert shown["database_url"]["value"] == "postgresql://joe:****@db/x?sslpassword=****"
    assert shown["redis_url"]["value"] == "redis://:****@r/0"
    assert shown["embedding_api_key"]["value"] == "****"
    told = program.chinese().good("settings").out
    assert "环境变量" in told
    assert "hush" not in told


def test_looking_starts_nothing(tmp_path: Path) -> None:
    program = Program(tmp_path, {"CLEARWELL_DATA_DIR": str(tmp_path / "data")})
    assert "bundled, not running" in program.good("status").out
    assert "目前没有数据" in program.chinese().good("data").out
    assert not (tmp_path / "data").exists()


@pytest.fixture
def plain_login(database_url: str) -> Iterator[str]:
    """A login that may run Clearwell and from which row-level security hides every group."""
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("CREATE ROLE plain_cli LOGIN NOINHERIT")
        owner.execute("GRANT clearwell_app TO plain_cli")
        owner.execute("GRANT SELECT ON schema_migrations TO plain_cli")
        parts = urlsplit(database_url)
        yield urlunsplit(parts._replace(netloc=f"plain_cli@{parts.netloc.rpartition('@')[2]}"))
        owner.execute("DROP OWNED BY plain_cli")
        owner.execute("DROP ROLE plain_cli")


def test_counts_that_are_hidden_are_not_said_to_be_zero(program: Program, plain_login: str) -> None:
    program.good("capture", "-g", "g", "--confidence", "0.1", "A text that a login without rights may not count.")
    assert program.good("status", "--json").json["counts"]["quarantine"]["refused"] == 1
    hidden = program.but(DATABASE_URL=plain_login)
    assert "hides the counts from this login" in hidden.good("status").out
    told = hidden.good("doctor", "--group", "g").out
    assert "Counts over all groups are not available" in told
    assert "1 refused (confidence 1)" in told


def test_an_output_is_forgotten_after_its_number_is_typed(program: Program, tmp_path: Path) -> None:
    text = "The password of the staging server was changed to walrus-umbrella by the platform team on Friday."
    row = program.good("capture", text, "-g", "g", "--session", "s1", "--json").json["id"]
    listed = program.good("forget", "--session", "s1", "-g", "g", "--json").json
    assert (listed["things"], listed["outputs"]) == (1, [row])
    assert program.run("forget", "--session", "s1", "-g", "g", "--confirm", "2").code == 2
    ended = program.run("forget", "--session", "s1", "-g", "g", stdin="")
    assert (ended.code, ended.err.split("\n")[-2]) == (130, "✗ Cancelled. Nothing was changed.")
    ended = program.chinese().run("forget", "--session", "s1", "-g", "g", stdin="")
    assert (ended.code, ended.err.split("\n")[-2]) == (130, "✗ 已取消，未作任何更改。")
    receipt = tmp_path / "receipt.json"
    done = program.good("forget", "--session", "s1", "-g", "g", "--confirm", "1", "--receipt", str(receipt))
    assert "This erases 1 thing for good" in done.out
    assert "walrus" not in receipt.read_text()
    assert row in receipt.read_text()
    again = program.good("capture", text, "-g", "g").out
    assert "Refused: the text was forgotten and is not stored." in again
    assert "kept in quarantine" not in again
    assert "没有可遗忘的内容" in program.chinese().good("forget", "--output", row, "-g", "g").out
    (empty,) = program.good("quarantine", "-g", "g", "--json").json["rows"]
    assert "\n    (erased)\n" in program.good("explain", empty["id"], "-g", "g").out


def test_the_audit_is_listed_and_verified(program: Program, tmp_path: Path) -> None:
    refused = program.but(CLEARWELL_ACTOR="agent").run("keys", "create", "--scope", "review", "--all-groups")
    assert refused.code == 1
    program.good("keys", "create", "--scope", "review,read", "--all-groups")
    listed = program.good("audit", "list", "--json").json["events"]
    assert [(event["action"], event["subject"].partition(" ")[0]) for event in listed] == [
        ("create key", "key"),
        ("refused", "create"),
    ]
    assert listed[1]["actor"].endswith("/agent")
    assert "create key" in program.chinese().good("audit", "list", "--action", "拒绝").out
    head = tmp_path / "head.json"
    assert "Seal 1 was written" in program.good("audit", "head", "--file", str(head)).out
    assert "The trail is intact: 2 events" in program.good("audit", "verify", "--head", str(head)).out
    head.write_text("[]")
    assert program.run("audit", "verify", "--head", str(head)).code == 2
