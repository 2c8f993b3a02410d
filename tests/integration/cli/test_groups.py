"""Groups and agents from the command line."""

from tests.integration.cli.program import Program


def test_a_group_and_its_agent_are_set_and_shown(program: Program) -> None:
    assert "No group has settings of its own" in program.good("group", "list").out
    told = program.good("group", "set", "支付组", "--prompt", "结论须有依据。", "--digest-zone", "Asia/Shanghai").out
    assert "支付组" in told
    assert "结论须有依据。" in told
    shown = program.good("group", "show", "支付组", "--json").json
    assert (shown["system_prompt"], shown["digest_zone"], shown["digest_cron"]) == (
        "结论须有依据。",
        "Asia/Shanghai",
        None,
    )
    (program.folder / "persona.txt").write_text("先找会出错的地方。", encoding="utf-8")
    program.good("agent", "set", "auditor", "-g", "支付组", "--file", "persona.txt")
    assert "先找会出错的地方。" in program.chinese().good("agent", "show", "auditor", "-g", "支付组").out
    assert "auditor" in program.good("agent", "list", "-g", "支付组").out
    program.good("agent", "remove", "auditor", "-g", "支付组")
    assert program.run("agent", "show", "auditor", "-g", "支付组").code == 1


def test_what_cannot_be_set_is_told(program: Program) -> None:
    refused = program.run("group", "set", "g", "--digest-cron", "mondays")
    assert (refused.code, "five fields" in refused.err) == (1, True)
    assert program.run("group", "set", "g").code == 2
    assert program.run("agent", "set", "a1", "-g", "g").code == 2
    assert program.good("group", "set", "g", "--prompt", "x", "--json").json["system_prompt"] == "x"
    assert program.good("group", "set", "g", "--prompt", "", "--json").json["system_prompt"] == ""
