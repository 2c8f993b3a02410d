"""How the console shows audit events: in words of both languages, with details by name."""

import ast
import inspect
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from clearwell.adapters.http.console.audit_lines import LineWriter
from clearwell.flow.review.service import ReviewService
from clearwell.messages import LANGUAGES, Language, catalogue
from clearwell.records import COPIES, ErasurePlan
from clearwell.service import MemoryManager
from clearwell.views.audit import AuditEventView, find_action, name_action
from clearwell.vocabulary import AuditAction
from tests.unit.test_messages import SOURCE, find_uses

ID, OTHER = "01a1ed50-9e3c-737e-9401-3dcb2f67a772", "01a1ed50-9e17-71b0-a0c6-9ee6277b3ce4"


def write(action: str, subject: str, language: Language = "en", **detail: Any) -> tuple[str, str, dict[str, str]]:
    event = AuditEventView(
        id=UUID(ID), group_id="g", at=datetime.now(UTC), actor="a", actor_name="a", action=action, subject=subject,
        detail=detail,
    )  # fmt: skip
    line = LineWriter(group="g", language=language, key_names={"key:1": "Ann"}).write(event)
    return line.action, str(line.subject), {name: str(value) for name, value in line.fields}


@pytest.mark.parametrize("action", AuditAction)
def test_every_action_has_a_name(action: AuditAction) -> None:
    assert f"audit_action_{action.replace(' ', '_')}" in catalogue()


def test_an_action_of_another_version_is_shown_as_recorded() -> None:
    assert name_action("paint it", "zh") == find_action("paint it") == "paint it"


@pytest.mark.parametrize("action", AuditAction)
def test_an_action_is_found_by_its_name_in_either_language(action: AuditAction) -> None:
    assert {find_action(name_action(action, language)) for language in LANGUAGES} == {action}
    assert find_action(action) == action


def test_an_event_is_said_in_the_language_of_the_reader() -> None:
    action, subject, fields = write("promote", f"memory {ID}", "zh", chunks=1, origin="insight", waiting=False)
    assert (action, fields) == ("晋升", {"分块": "1", "来源": "洞察"})
    assert subject == f'记忆 <a class="mono" href="/g/g/memories/{ID}" title="{ID}">2f67a772</a>'


def test_outputs_are_shown_by_what_became_of_them_and_who_captured_them() -> None:
    captured = {"admitted": {ID: "key:1"}, "refused": {OTHER: None}}
    action, subject, fields = write("settle captures", "2 outputs", captured_by=captured)
    assert (action, subject) == ("check outputs", "2 outputs")
    assert list(fields) == ["admitted", "refused"]
    assert fields["admitted"].endswith(">2f67a772</a> (Ann)")
    assert fields["refused"].endswith(">277b3ce4</a> (–)")


def test_a_change_and_what_was_erased_are_said_in_words() -> None:
    _, _, fields = write("change group", "group g", changed=["system_prompt", "digest_cron"])
    assert fields == {"changed": "system prompt, schedule of the digest"}
    _, _, fields = write("forget", "session", counts={"insights": 1, "memories": 2})
    assert fields == {"erased": "1 insight · 2 memories, with chunks and terms"}
    assert write("make digest", "digest", "zh", rows=8)[2] == {"读取的产出数": "8"}


def test_every_kind_of_erased_things_has_a_sentence() -> None:
    assert {f"erased_{kind}" for kind in (*ErasurePlan().counts, *COPIES)} == {
        code for code in catalogue() if "erased_" in code
    }


def test_long_lists_are_counted_and_hostile_names_escaped() -> None:
    _, subject, fields = write("put agent", "agent <b>\u200b", memories=[ID] * 7, changed=["<i>"])
    assert subject == 'agent &lt;b&gt;<span class="hidden-character">⟦U+200B⟧</span>'
    assert fields["memories"].endswith(", and 2 more")
    assert fields["changed"] == "&lt;i&gt;"


def test_a_refusal_names_what_was_attempted() -> None:
    detail: dict[str, Any] = {"why": "right_missing", "agent": None, "rights": ["read"], "needed": "review"}
    action, subject, fields = write("refused", f"promote insight {ID}", **detail)
    link = f'<a class="mono" href="/g/g/review?at={ID}" title="{ID}">2f67a772</a>'
    assert (action, subject) == ("refused", f"promote the insight {link}")
    assert fields == {
        "reason": "the key lacks the scope",
        "scopes of the key": "read",
        "missing scope": "review",
    }
    assert write("refused", "working memory", "zh", **detail)[1:] == (
        "读取工作记忆",
        {"原因": "密钥缺少所需权限", "密钥的权限": "read", "缺少的权限": "review"},
    )
    assert write("refused", "decide on 3 insights", "zh")[1] == "批量作出决定 3"
    assert write("refused", f"paint {ID}", why="painted")[1:] == ("paint 2f67a772", {"reason": "painted"})


def test_every_refusal_that_is_recorded_has_a_sentence() -> None:
    refusals = [use for use in find_uses() if use.maker in {"Conflict", "NotAllowed", "Unauthenticated"}]
    recorded = {use.code for use in refusals if use.place.startswith(("flow", "stores", "adapters/http"))}
    sentences = {code.removeprefix("console_refusal_") for code in catalogue() if code.startswith("console_refusal_")}
    assert recorded == sentences


REQUIRING = {"operator", "_operator", "require_administrator", "require_operator", "require_person", "require_reviewer"}


def find_attempts() -> Iterator[str]:
    """What the source names where it requires a right: its words, without ids and numbers."""
    for path in sorted(SOURCE.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in REQUIRING:
                named = call.args[-1].values if isinstance(call.args[-1], ast.JoinedStr) else call.args[-1:]
                yield "".join(str(part.value) for part in named if isinstance(part, ast.Constant))


def test_every_attempt_that_is_named_has_a_sentence() -> None:
    attempts = {"_".join(attempt.split()) for attempt in find_attempts()} - {"", "insight"}
    assert attempts
    assert not [attempt for attempt in attempts if f"console_attempt_{attempt}" not in catalogue()]


@pytest.mark.parametrize("facade", [MemoryManager, ReviewService])
def test_every_method_that_can_refuse_has_a_name(facade: type) -> None:
    methods = [name for name, value in vars(facade).items() if inspect.isfunction(value) and not name.startswith("_")]
    unnamed = [name for name in methods if f"console_attempt_{name}" not in catalogue()]
    assert set(unnamed) <= {"acting_as", "destination", "group_of"}
