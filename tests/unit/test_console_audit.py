"""How the console shows audit events: in words of both languages, with details by name."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from clearwell.adapters.http.console.audit_lines import LineWriter, name_action
from clearwell.messages import Language, catalogue
from clearwell.views.audit import AuditEventView
from clearwell.vocabulary import AuditAction

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
    assert name_action("paint it", "zh") == "paint it"


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


def test_long_lists_are_counted_and_hostile_names_escaped() -> None:
    _, subject, fields = write("put agent", "agent <b>\u200b", memories=[ID] * 7, changed=["<i>"])
    assert subject == 'agent &lt;b&gt;<span class="hidden-character">⟦U+200B⟧</span>'
    assert fields["memories"].endswith(", and 2 more")
    assert fields["changed"] == "&lt;i&gt;"


def test_a_refusal_names_what_was_attempted() -> None:
    action, subject, fields = write(
        "refused", f"promote insight {ID}", why="right_missing", agent=None, rights=["read"]
    )
    assert (action, subject) == ("refused", "promote insight 2f67a772")
    assert fields == {"reason": "right_missing", "scopes": "read"}
