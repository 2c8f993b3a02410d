"""An audit event as a line of the console: its action in words, what it was done to, and its details by name.

Events hold ids, numbers and codes. Whatever has a sentence is said in the language of the reader; the rest is shown as
it was recorded.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from markupsafe import Markup
from pydantic import JsonValue

from clearwell.adapters.http.console.inbox import read_id
from clearwell.adapters.http.console.markdown import show_plain
from clearwell.adapters.http.console.navigation import page_url
from clearwell.messages import Language, catalogue, say
from clearwell.text.short_ids import shorten_id, shorten_ids
from clearwell.views.audit import AuditEventView, name_action
from clearwell.vocabulary import AuditAction

MAX_IDS = 5
"""This many ids of a list are shown; the rest is counted."""
PAGES = {"memory": "memories", "quarantine": "quarantine", "insight": "review"}
"""The page of what a subject names."""
LINKED = {"memories": "memory", "supersedes": "memory", "others": "insight", "assigned_from": "quarantine"}
"""Details whose ids have a page, and of what kind they are."""
SPOKEN = {
    "origin": "console_origin_",
    "was": "action_",
    "kind": "console_forget_{}_kind",
    "why": "console_refusal_",
}
"""Details whose value is a code that has a sentence."""
COUNTED = re.compile(r"(\d+) outputs?")
NUMBERS = re.compile(r"\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+)\b")
"""The ids and numbers in what a refused caller attempted; the words around them have a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What the page shows of one event."""

    event: AuditEventView
    action: str
    subject: Markup
    fields: Sequence[tuple[str, Markup]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineWriter:
    """Writes the events of one group for one reader. ``key_names`` are the names of keys by the name of their actor."""

    group: str
    language: Language
    key_names: Mapping[str, str]

    def write(self, event: AuditEventView) -> Line:
        return Line(
            event=event,
            action=name_action(event.action, self.language),
            subject=self._write_subject(event),
            fields=[field for name, value in event.detail.items() for field in self._write_detail(name, value)],
        )

    def _write_subject(self, event: AuditEventView) -> Markup:
        if counted := COUNTED.fullmatch(event.subject):
            return show_plain(self._say("audit_subject_outputs", count=int(counted[1])))
        if event.action == AuditAction.REFUSED:
            return self._write_attempt(event.subject)
        kind, _, named = event.subject.partition(" ")
        code = f"audit_subject_{kind}"
        if code not in catalogue():
            return show_plain(shorten_ids(event.subject))
        shown = self._write_id(named, kind) if read_id(named) else show_plain(shorten_ids(named))
        return Markup("{} {}").format(self._say(code), shown) if named else show_plain(self._say(code))

    def _write_attempt(self, attempt: str) -> Markup:
        """What a refused caller attempted, in words, with the ids and numbers that it named."""
        words = NUMBERS.sub("", attempt).split()
        code = f"console_attempt_{'_'.join(words)}"
        if code not in catalogue():
            return show_plain(shorten_ids(attempt))
        kind = next((word for word in reversed(words) if word in PAGES), "")
        named = [self._write_id(one, kind) if read_id(one) else show_plain(one) for one in NUMBERS.findall(attempt)]
        return Markup(" ").join([show_plain(self._say(code)), *named])

    def _write_detail(self, name: str, value: JsonValue) -> Iterator[tuple[str, Markup]]:
        """The fields of a detail; none if it has no value."""
        if value is None or value is False or value in ([], {}):
            return
        if name == "captured_by" and isinstance(value, dict):
            for state, outputs in value.items():
                yield self._say_or(f"admission_{state}", state), self._write_outputs(outputs)
            return
        yield self._say_or(f"audit_detail_{name}", name), self._write_value(name, value)

    def _write_value(self, name: str, value: JsonValue) -> Markup:
        match value:
            case dict():
                parts = [
                    self._say_or(f"erased_{key}", f"{inner} {key}", count=inner)
                    for key, inner in value.items()
                    if inner
                ]
                return show_plain(" · ".join(parts))
            case list():
                shown = [self._write_value(name, one) for one in value[:MAX_IDS]]
                if len(value) > MAX_IDS:
                    shown.append(show_plain(self._say("audit_and_more", count=len(value) - MAX_IDS)))
                return Markup(", ").join(shown)
            case True:
                return show_plain(self._say("console_yes"))
            case str() if read_id(value):
                return self._write_id(value, LINKED.get(name, ""))
            case str() if name == "changed":
                return show_plain(self._say_or(f"audit_changed_{value}", value))
            case str() if name in SPOKEN:
                code = SPOKEN[name].format(value) if "{}" in SPOKEN[name] else SPOKEN[name] + value
                return show_plain(self._say(code) if code in catalogue() else value)
            case _:
                return show_plain(self.key_names.get(str(value), str(value)))

    def _write_outputs(self, outputs: JsonValue) -> Markup:
        """Outputs by id, each with who captured it."""
        if not isinstance(outputs, dict):
            return show_plain(outputs)
        shown = [
            Markup("{} ({})").format(self._write_id(log_id, "quarantine"), self._name(by))
            for log_id, by in list(outputs.items())[:MAX_IDS]
        ]
        if len(outputs) > MAX_IDS:
            shown.append(show_plain(self._say("audit_and_more", count=len(outputs) - MAX_IDS)))
        return Markup(", ").join(shown)

    def _write_id(self, whole: str, kind: str) -> Markup:
        """An id in its short form, which leads to its page if there is one."""
        if kind not in PAGES:
            return Markup('<code title="{}">{}</code>').format(whole, shorten_id(whole))
        target = _address(self.group, kind, UUID(whole))
        return Markup('<a class="mono" href="{}" title="{}">{}</a>').format(target, whole, shorten_id(whole))

    def _name(self, by: JsonValue) -> Markup:
        return show_plain("–" if by is None else self.key_names.get(str(by), str(by)))

    def _say(self, code: str, **params: object) -> str:
        return say(code, self.language, **params)

    def _say_or(self, code: str, name: str, **params: object) -> str:
        """What a code says, or the name if there is no such sentence."""
        return self._say(code, **params) if code in catalogue() else name


def _address(group: str, kind: str, found: UUID) -> str:
    page = page_url(group, PAGES[kind])
    return f"{page}?at={found}" if kind == "insight" else f"{page}/{found}"
