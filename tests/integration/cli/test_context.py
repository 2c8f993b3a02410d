"""``clearwell context`` and ``clearwell factcheck`` in both languages."""

from tests.integration.cli.program import Program

KNOWN = "The payment gateway may be down for ten minutes at most, says the contract with the bank."
PROPOSAL = "Move the payment gateway on Friday night."


def test_a_context_is_shown_to_people_and_programs(served: Program) -> None:
    served.good("group", "set", "g", "--prompt", "Decide by evidence.")
    served.good("agent", "set", "a1", "-g", "g", "--persona", "You audit risk.")
    served.good("ingest", "-g", "g", KNOWN)
    shown = served.good("context", "-g", "g", "--agent", "a1", "--proposal", PROPOSAL).out
    assert shown.startswith("## The group\nDecide by evidence.\n\n## Your role\nYou audit risk.\n")
    assert f">{KNOWN}</memory>" in shown
    assert shown.endswith(f"## Current proposal\n{PROPOSAL}\n")
    chinese = served.chinese().good("context", "-g", "g", "-p", "-", stdin=PROPOSAL).out
    assert "## 群组记忆\n1. [✅ 已验证 · " in chinese
    report = served.chinese().good("context", "-g", "g", "-p", PROPOSAL, "--report").out
    assert "/ 4000 词元" in report
    assert "已包含" in report
    built = served.good("context", "-g", "g", "-p", PROPOSAL, "--json").json
    assert [one["role"] for one in built["messages"]] == ["system", "user"]


def test_a_cut_is_said_on_stderr_and_a_wrong_budget_refused(program: Program) -> None:
    cut = program.good("context", "-g", "g", "-p", f"{PROPOSAL} " * 100, "--max-tokens", "200")
    assert "characters omitted here]" in cut.out
    assert "Shortened to fit" in cut.err
    refused = program.run("context", "-g", "g", "-p", PROPOSAL, "--max-tokens", "5")
    assert (refused.code, "200..2000000" in refused.err) == (1, True)


def test_a_fact_check_is_shown_to_people_and_programs(served: Program) -> None:
    served.good("ingest", "-g", "facts", KNOWN)
    wrong = KNOWN.replace("ten", "forty")
    shown = served.good("factcheck", "-g", "facts", wrong).out
    assert shown.startswith(f"contradicted: {wrong}\n  1 verified memory contradicts it\n  ✅ Verified · contradicts")
    assert "A number differs: forty minutes instead of ten minutes." in shown
    assert shown.endswith("rated by the comparison rules, without a language model\n")
    chinese = served.chinese().good("factcheck", "-g", "facts", "-", stdin=KNOWN).out
    assert chinese.startswith(f"有依据：{KNOWN}\n")
    found = served.good("factcheck", "-g", "facts", "--session", "s1", "--json", wrong, "--max-results", "3").json
    assert (found["rating"], found["method"], len(found["claims"][0]["citations"])) == ("contradicted", "rules", 1)
    assert served.run("factcheck", "-g", "facts", " ").code == 1
