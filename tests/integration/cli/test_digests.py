"""``digest run``, ``show`` and ``list`` in both languages, for people and for programs; and ``worker``."""

import os
import pty
import signal
from collections.abc import Sequence

from clearwell.app import Clearwell
from clearwell.records import NewCapture
from tests.integration.cli.program import Program, until
from tests.path import PERSON

SAID = (
    ("a1", "Nightly backups of the billing database now take eleven minutes instead of forty minutes."),
    ("a2", "Backups of the billing database finish in eleven minutes every night since the move."),
    ("a3", "计费数据库的夜间备份现在只需十一分钟\u200b，而不是之前的四十分钟，备份方式没有改变。"),
)


async def keep(clearwell: Clearwell) -> list[str]:
    kept = [
        await clearwell.memory.acting_as(PERSON).capture(
            NewCapture(content=content, group_id="g", agent_id=agent, session_id=f"s-{agent}", node_id="n"),
            wait=True,
        )
        for agent, content in SAID
    ]
    return [str(one.id) for one in kept]


async def test_a_digest_is_made_shown_and_listed(served: Program, clearwell: Clearwell) -> None:
    ids = await keep(clearwell)
    made = served.good("digest", "run", "-g", "g")
    assert made.err == ""
    title, note, *_ = made.out.splitlines()
    assert title.startswith("Digest ")
    assert title.endswith(" of the group g: done")
    assert "Insights: 1. Outputs considered: 3." in note
    assert " · pending · quoted from its sources · " in made.out
    assert "Sources: " in made.out
    assert f" {ids[0][-8:]} · " in made.out
    assert "\u200b" not in made.out
    short = title.split()[1]

    shown = served.chinese().good("digest", "show", short, "-g", "g").out
    assert shown.startswith(f"群组 g 的简报 {short}：已完成\n")
    assert "待审核 · 引用来源原文 · " in shown
    found = served.good("digest", "show", short, "-g", "g", "--json").json
    digest_id = found["id"]
    assert (found["status"], found["insights"][0]["written_by"]) == ("done", "extractive")
    assert {one["log_id"] for one in found["insights"][0]["sources"]} <= set(ids)

    again = served.good("digest", "run", "-g", "g", "--json").json
    assert (again["status"], again["insights"]) == ("done", [])
    listed = served.good("digest", "list", "-g", "g").out
    assert listed.index(again["id"][-8:]) < listed.index(short)
    assert [one["id"] for one in served.good("digest", "list", "-g", "g", "--json").json["digests"]] == [
        again["id"],
        digest_id,
    ]


def test_what_is_not_there_is_told(served: Program) -> None:
    assert "has no digests yet" in served.good("digest", "list", "-g", "nobody").out
    for wanted in ("no-such", "01234567-89ab-7cde-8f01-23456789abcd"):
        ran = served.run("digest", "show", wanted)
        assert ran.code == 1
        assert f"There is no digest {wanted[-8:].strip()}" in ran.err
    assert "没有简报" in served.chinese().run("digest", "show", "nothing").err
    served.good("group", "set", "nobody", "--prompt", "x")
    empty = served.chinese().good("digest", "run", "-g", "nobody").out
    assert "群组 nobody 中没有任何产出" in empty


async def test_a_person_at_a_terminal_sees_how_far_it_is(program: Program, clearwell: Clearwell) -> None:
    await keep(clearwell)
    screen = on_a_terminal(program, ["digest", "run", "-g", "g"])
    assert "━" in screen
    assert "%" in screen
    assert "Outputs considered: 3" in screen


def test_a_worker_runs_until_it_is_asked_to_stop(program: Program) -> None:
    running = program.start("worker")
    running.wait_until(lambda: running.text.endswith("\n"))
    assert running.text == "The worker is running. Press Ctrl-C to stop it.\n"
    assert running.stop(signal.SIGTERM) == 0
    assert running.text.removeprefix("The worker is running. Press Ctrl-C to stop it.\n") == "The worker has stopped.\n"


def on_a_terminal(program: Program, words: Sequence[str]) -> str:
    """What the program writes where somebody looks."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r+b", buffering=0) as terminal:
        process = program.but(TERM="xterm", COLUMNS="100").fork(words, (terminal, terminal, terminal))
    parts: list[bytes] = []

    def ended() -> bool:
        try:
            parts.append(os.read(ours, 65536))
        except OSError:  # the other end is closed
            return True
        return not parts[-1]

    until(ended)
    assert process.wait(30) == 0
    os.close(ours)
    return b"".join(parts).decode()
