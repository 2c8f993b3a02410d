"""An agent at the shell (``CLEARWELL_ACTOR=agent``): every command is either its to use or refused."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import typer

from clearwell.adapters.cli import app
from tests.integration.cli.program import Program
from tests.path import OTHER

ID = "01970000-0000-7000-8000-000000000001"
ALLOWED = {
    ("serve",),
    ("worker",),
    ("migrate",),
    ("demo",),
    ("events",),
    ("factcheck",),
    ("spool", "list"),
    ("spool", "deliver"),
    ("capture",),
    ("query",),
    ("context",),
    ("explain",),
    ("check",),
    ("status",),
    ("data",),
    ("doctor",),
    ("models", "check"),
    ("settings",),
    ("mcp",),
    ("counts",),
    ("requeue",),
    ("working", "list"),
    ("group", "list"),
    ("group", "show"),
    ("agent", "list"),
    ("agent", "show"),
}
REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("reembed",): ("--model", "offline"),
    ("rebuild",): (),
    ("index",): (),
    ("backup",): ("b",),
    ("restore",): ("b",),
    ("audit", "accept"): ("-g", "g"),
    ("export",): ("file.jsonl", "-g", "g"),
    ("import",): ("export.jsonl",),
    ("ingest",): (OTHER, "-g", "g"),
    ("retract",): ("--agent", "a1", "--token", "x", "-g", "g"),
    ("admit",): (ID, "-g", "g"),
    ("quarantine",): ("-g", "g"),
    ("working", "remove"): (ID, "-g", "g"),
    ("working", "rebuild"): (),
    ("review", "list"): ("-g", "g"),
    ("review", "show"): (ID, "-g", "g"),
    ("review", "promote"): (ID, "-g", "g"),
    ("review", "reject"): (ID, "-g", "g", "--reason", "x"),
    ("review", "merge"): (ID, ID[:-1] + "2", "-g", "g"),
    ("review", "snooze"): (ID, "-g", "g"),
    ("review", "undo"): (ID, "-g", "g"),
    ("review", "decisions"): ("-g", "g"),
    ("memories", "list"): ("-g", "g"),
    ("memories", "show"): (ID, "-g", "g"),
    ("memories", "withdraw"): (ID, "-g", "g", "--reason", "x"),
    ("tombstone", "add"): (OTHER, "-g", "g", "--reason", "x"),
    ("tombstone", "list"): ("-g", "g"),
    ("tombstone", "lift"): (ID, "-g", "g"),
    ("assign",): (ID, "-g", "g"),
    ("forget",): ("--agent", "a1", "-g", "g"),
    ("audit", "list"): ("-g", "g"),
    ("audit", "verify"): ("-g", "g"),
    ("audit", "head"): ("-g", "g"),
    ("digest", "run"): ("-g", "g"),
    ("digest", "show"): (ID,),
    ("digest", "list"): ("-g", "g"),
    ("group", "set"): ("g", "--digest-zone", "UTC"),
    ("agent", "set"): ("a1", "-g", "g", "--persona", "x"),
    ("agent", "remove"): ("a1", "-g", "g"),
    ("spool", "discard"): (),
    ("keys", "create"): ("--scope", "review", "--all-groups"),
    ("keys", "list"): (),
    ("keys", "revoke"): (ID,),
}


def commands() -> Iterator[tuple[str, ...]]:
    for command in app.registered_commands:
        yield (_name(command),)
    for group in app.registered_groups:
        assert group.typer_instance is not None
        for command in group.typer_instance.registered_commands:
            yield str(group.name), _name(command)


def _name(command: typer.models.CommandInfo) -> str:
    assert command.callback is not None
    return command.name or command.callback.__name__


def test_of_every_command_it_is_known_whether_an_agent_may_use_it() -> None:
    assert {*commands()} == ALLOWED | {*REFUSED}
    assert not ALLOWED & {*REFUSED}


def test_what_only_people_do_is_refused(served: Program) -> None:
    without_model = {"CLEARWELL_EMBEDDER": "openai", "CLEARWELL_EMBEDDING_BASE_URL": "http://127.0.0.1:9/v1"}
    agent = served.but(CLEARWELL_ACTOR="agent", **without_model)
    served.good("group", "set", "g", "--prompt", "x")
    served.good("export", "export.jsonl", "-g", "g")
    with ThreadPoolExecutor(2) as pool:
        answers = [*pool.map(lambda given: agent.run(*given[0], *given[1]), REFUSED.items())]
    for command, refused in zip(REFUSED, answers, strict=True):
        assert refused.code == 1, (command, refused)
        assert refused.out == "", command
        assert "unset CLEARWELL_ACTOR" in refused.err, (command, refused)
    assert served.good("keys", "list", "--json").json == {"keys": []}
