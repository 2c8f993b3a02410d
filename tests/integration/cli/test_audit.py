"""The audit on the command line: after the database or a backup was restored, an operator can settle it."""

from pathlib import Path

import psycopg

from tests.integration.cli.program import Program


def set_agent(program: Program, name: str) -> None:
    program.good("agent", "set", name, "-g", "harbour", "--persona", "Counts the boats.")


def test_a_restored_database_is_settled_by_the_operator(program: Program, database_url: str) -> None:
    for name in ("first", "second"):
        set_agent(program, name)
        program.good("audit", "verify", "-g", "harbour")
    with psycopg.connect(database_url) as owner:
        owner.execute("""DELETE FROM audit_events WHERE id IN (
            SELECT unnest(event_ids) FROM audit_seals WHERE group_id = 'harbour' AND number = 2)""")
        owner.execute("DELETE FROM audit_seals WHERE group_id = 'harbour' AND number = 2")
    set_agent(program, "third")
    ran = program.run("audit", "verify", "-g", "harbour")
    assert ran.code == 1
    assert "the trail was cut here" in ran.out
    assert "clearwell audit accept" in ran.out
    examined = program.run("doctor", "--json")
    assert examined.code == 1
    assert {check["check"]: check["status"] for check in examined.json["checks"]}["audit"] == "problem"
    assert program.but(CLEARWELL_ACTOR="agent").run("audit", "accept", "--all").code != 0
    assert "seal 2 was known before" in program.good("audit", "accept", "--all").out
    report = program.good("audit", "verify", "-g", "harbour", "--json").json
    assert (report["intact"], report["warnings"], report["sealed_events"]) == (True, [], 3)
    assert "✗" not in program.good("doctor").out
    assert "没有需要接受的审计记录" in program.chinese().good("audit", "accept", "--all").out


def test_a_lost_heads_file_is_told_and_settled(program: Program, tmp_path: Path) -> None:
    set_agent(program, "first")
    program.good("audit", "verify", "-g", "harbour")
    (tmp_path / "data" / "audit.heads").unlink()
    told = program.good("audit", "verify", "-g", "harbour")
    assert "was recreated at" in told.out + told.err
    assert "Events may have been removed or rewritten" in program.good("doctor").out
    program.good("audit", "accept", "-g", "harbour")
    assert program.good("audit", "verify", "-g", "harbour", "--json").json["warnings"] == []


def test_a_restored_backup_has_the_heads_of_its_time(own_folder: Path) -> None:
    bundled = Program(own_folder, {"CLEARWELL_DATA_DIR": str(own_folder / "data")})
    set_agent(bundled, "before")
    bundled.good("audit", "verify", "-g", "harbour")
    bundled.good("backup", str(own_folder / "backup"))
    set_agent(bundled, "after")
    bundled.good("audit", "verify", "-g", "harbour")
    assert (own_folder / "backup" / "audit.heads").stat().st_mode & 0o777 == 0o600
    restored = bundled.but(CLEARWELL_DATA_DIR=str(own_folder / "restored"))
    restored.good("restore", str(own_folder / "backup"))
    report = restored.good("audit", "verify", "-g", "harbour", "--json").json
    assert (report["intact"], report["warnings"], report["seals"]) == (True, [], 1)
    assert restored.good("audit", "verify", "--json").json["intact"]
