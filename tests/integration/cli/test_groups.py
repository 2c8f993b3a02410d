"""Groups and agents from the command line."""

from tests.integration.cli.program import Program


def test_a_group_and_its_agent_are_set_and_shown(served: Program) -> None:
    assert "No group has settings of its own" in served.good("group", "list").out
    told = served.good("group", "set", "支付组", "--prompt", "结论须有依据。", "--digest-zone", "Asia/Shanghai").out
    assert "支付组" in told
    assert "结论须有依据。" in told
    shown = served.good("group", "show", "支付组", "--json").json
    assert (shown["system_prompt"], shown["digest_zone"], shown["digest_cron"]) == (
        "结论须有依据。",
        "Asia/Shanghai",
        None,
    )
    (served.folder / "persona.txt").write_text("先找会出错的地方。", encoding="utf-8")
    served.good("agent", "set", "auditor", "-g", "支付组", "--file", "persona.txt")
    assert "先找会出错的地方。" in served.chinese().good("agent", "show", "auditor", "-g", "支付组").out
    assert "auditor" in served.good("agent", "list", "-g", "支付组").out
    served.good("agent", "remove", "auditor", "-g", "支付组")
    assert served.run("agent", "show", "auditor", "-g", "支付组").code == 1


def test_what_cannot_be_set_is_told(served: Program) -> None:
    refused = served.run("group", "set", "g", "--digest-cron", "mondays")
    assert (refused.code, "five fields" in refused.err) == (1, True)
    assert served.run("group", "set", "g").code == 2
    assert served.run("agent", "set", "a1", "-g", "g").code == 2
    assert served.good("group", "set", "g", "--prompt", "x", "--json").json["system_prompt"] == "x"
    assert served.good("group", "set", "g", "--prompt", "", "--json").json["system_prompt"] == ""


def test_a_mistyped_group_is_refused_and_similar_names_are_told(served: Program) -> None:
    served.good("group", "set", "payments", "--prompt", "x")
    for words in (
        ("export", "file.jsonl"),
        ("forget", "--everything"),
        ("requeue", "--refused-by", "length"),
        ("digest", "run"),
    ):
        refused = served.run(*words, "--group", "paymnts")
        told = "✗ There is no group paymnts. Groups with similar names: payments.\n"
        assert (refused.code, refused.err) == (1, told), words
        assert served.run(*words, "--group", "quite-other").err == "✗ There is no group quite-other.\n"
        assert "没有群组 paymnts。名称相近的群组：payments。" in served.chinese().run(*words, "-g", "paymnts").err
    assert not (served.folder / "file.jsonl").exists()
    served.good("agent", "set", "auditor", "-g", "lonely", "--persona", "Careful.")
    assert served.good("forget", "--agent", "auditor", "-g", "lonely", "--json").json["agents"] == ["auditor"]
