"""``export`` and ``import``."""

import json

from tests.integration.cli.program import Program

LEDGER = "The harbour office keeps the blue ledger in the iron cabinet."
NOTES = [
    {"content": "The crane on pier 4 was inspected by Holm on Monday and may lift 12 tonnes again.", "agent_id": "a1"},
    {"text": "The night shift at the lock counts 14 boats on average since the new timetable."},
]


def test_groups_go_to_a_file_and_come_back(served: Program) -> None:
    served.good("ingest", LEDGER, "-g", "harbour")
    served.good("ingest", LEDGER, "-g", "lock")
    told = served.good("export", "all.jsonl", "--all")
    assert "2 groups" in told.out
    file = served.folder / "all.jsonl"
    assert file.stat().st_mode & 0o077 == 0
    assert [json.loads(line)["group_id"] for line in file.read_text().splitlines() if '"clearwell"' in line] == [
        "harbour",
        "lock",
    ]
    assert "exists" in served.run("export", "all.jsonl", "--all").err
    (served.folder / "link.jsonl").symlink_to(served.folder / "elsewhere")
    assert served.run("export", "link.jsonl", "-g", "lock").code == 2
    assert not (served.folder / "elsewhere").exists()
    assert served.run("export", "none.jsonl").code == 2
    again = served.good("import", "all.jsonl", "--json").json
    assert (again["groups"], again["stored"]) == (["harbour", "lock"], 0)
    assert "已导入：2 个群组" in served.chinese().good("import", "all.jsonl").out
    assert sorted(path.name for path in served.folder.glob("*.jsonl*")) == ["all.jsonl", "link.jsonl"]


def test_a_file_of_which_nothing_is_captured_is_refused_with_the_reasons(served: Program) -> None:
    (served.folder / "empty.txt").write_text(" \n", encoding="utf-8")
    refused = served.run("import", "empty.txt", "-g", "notes")
    assert refused.code == 1
    assert "✗ Line 1: content is empty or contains only white space." in refused.err
    lines = ['{"content": " "}', "", '{"content": "The bakery on Elm Street opens at seven on weekdays."}']
    (served.folder / "some.jsonl").write_text("\n".join(lines), encoding="utf-8")
    partly = served.good("import", "some.jsonl", "-g", "notes")
    assert "Captured 1 text" in partly.out
    assert "✗ Line 1: content is empty or contains only white space." in partly.err
    (served.folder / "blank.jsonl").write_text('\n\n{"content": ""}\n', encoding="utf-8")
    assert "✗ 第 3 行：content" in served.chinese().run("import", "blank.jsonl", "-g", "notes").err


def test_what_clearwell_has_not_signed_is_refused_or_only_captured(served: Program) -> None:
    served.good("ingest", LEDGER, "-g", "harbour")
    served.good("export", "own.jsonl", "-g", "harbour")
    own = served.folder / "own.jsonl"
    forged = served.folder / "forged.jsonl"
    forged.write_text(own.read_text().replace("iron cabinet", "wooden box on the pier of the harbour"))
    refused = served.run("import", "forged.jsonl")
    assert refused.code == 1
    assert "was changed" in refused.err
    captured = served.good("import", "forged.jsonl", "--as-captures", "-g", "harbour", "--json").json
    assert (captured["captured"], captured["failed"]) == (1, 0)
    found = served.good("query", "Where is the ledger?", "-g", "harbour", "--json").json["results"]
    assert {item["content"] for item in found if item["verified"]} == {LEDGER}
    notes = served.folder / "notes.jsonl"
    notes.write_text("".join(json.dumps(note) + "\n" for note in NOTES))
    assert "--group" in served.run("import", "notes.jsonl").err
    for _ in range(2):
        assert served.good("import", "notes.jsonl", "-g", "notes", "--json").json["captured"] == len(NOTES)
    rows = served.good("quarantine", "-g", "notes", "--json").json["rows"]
    assert len(rows) == len(NOTES), "nothing is stored twice"
    (served.folder / "letter.md").write_text(LEDGER)
    assert "1" in served.good("import", "letter.md", "-g", "notes").out
    notes.write_bytes(b'{"content": 1}\n')
    assert served.run("import", "notes.jsonl", "-g", "notes").code != 0
    notes.write_bytes(b'{"content": "a", "content": "b"}\n')
    assert served.run("import", "notes.jsonl", "-g", "notes").code != 0
    notes.write_bytes(b"\xff\xfe\n")
    assert "UTF-8" in served.run("import", "notes.jsonl", "-g", "notes").err
    assert served.run("import", "absent.jsonl").code == 1
