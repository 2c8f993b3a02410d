"""The gate: records every refusal of a caller in the audit.

Everything that a caller can do is a method of a facade (``MemoryManager``, ``ReviewService``). ``record_refusals`` lays
the gate around all of them: a method that refuses its caller (NotAllowed) or does not fit the current state (Conflict)
leaves an event, whether it raises the refusal or returns it for one item of many.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

import structlog

from clearwell.errors import ClearwellError, Conflict, NotAllowed, Unauthenticated, Unavailable
from clearwell.flow import limits
from clearwell.flow.access.permissions import require_group_covered, require_in_group, require_right
from clearwell.flow.audit.events import AuditEvents
from clearwell.ports import AuditStore, Clock, GroupStore, Ids
from clearwell.records import INSTALLATION, DecisionRequest, Json, NewCapture, Principal, Right
from clearwell.text.hidden_text import escape_hidden
from clearwell.vocabulary import AuditAction

log = structlog.get_logger(__name__)
C = TypeVar("C", bound=type)
STRANGER: Final = "unknown"
"""The actor of a request whose caller was not recognised."""
SHOWN_GROUP: Final = 80
"""Characters of the name of a group that does not exist in the event of a refusal."""
STRANGER_SECONDS: Final = 10.0
"""Requests of unknown callers are counted for so long and recorded as one event, so that they cannot fill the trail."""


class AccessGate:
    """Lets only people decide, and records in the audit every caller that is refused."""

    def __init__(self, audit: AuditStore, groups: GroupStore, clock: Clock, ids: Ids) -> None:
        self._audit = audit
        self._groups = groups
        self._audit_events = AuditEvents(clock, ids)
        self._strangers: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def require_person(self, by: Principal, group_id: str, what: str) -> None:
        """Require a person with the right to review. A key that is bound to an agent does not belong to a person.

        ``what`` names the attempted action in the audit. Raises NotAllowed.
        """
        try:
            require_right(by, Right.REVIEW)
            if by.agent_id is not None:
                raise NotAllowed("agent_decides_nothing", name=by.title, agent=by.agent_id)
            require_group_covered(by, limits.require_group(group_id))
        except NotAllowed as refusal:
            await self.record(refusal, by, group_id, what)
            raise

    async def require_reviewer(self, by: Principal, group_id: str, what: str) -> None:
        """Require the right to review or administer, for actions that prepare a decision or keep a value out."""
        try:
            require_in_group(by, group_id, Right.REVIEW, Right.ADMIN)
        except NotAllowed as refusal:
            await self.record(refusal, by, group_id, what)
            raise

    async def require_administrator(self, by: Principal, group_id: str, what: str) -> None:
        """Require the right to administer the group. Raises NotAllowed."""
        try:
            require_right(by, Right.ADMIN)
            require_group_covered(by, group_id)
        except NotAllowed as refusal:
            await self.record(refusal, by, group_id, what)
            raise

    async def record(self, refusal: ClearwellError, by: Principal, group_id: str | None, what: str) -> None:
        """Record a refusal, once. ``what`` says what was attempted; it has ids and never a text."""
        if refusal.recorded:
            return
        refusal.recorded = True
        rights: list[Json] = [right.value for right in sorted(by.rights)]
        detail: dict[str, Json] = {"why": refusal.code, "agent": by.agent_id, "rights": rights}
        if "needed" in refusal.params:
            detail["needed"] = str(refusal.params["needed"])
        trail = await self._find_trail(group_id, by)
        if trail == INSTALLATION and group_id is not None:
            detail["group"] = escape_hidden(group_id[:SHOWN_GROUP])
        await self._add(what, trail, by.name, detail)

    async def _find_trail(self, group_id: str | None, by: Principal) -> str:
        """The group whose trail gets the event of a refusal.

        It is that of the installation if no group was named, if its name is not valid, or if it is neither here nor
        covered by the key: whoever invents names would otherwise make as many trails.
        """
        named = _audited_group(group_id)
        if named == INSTALLATION or by.covers(named):
            return named
        try:
            return named if await self._groups.exists(named) else INSTALLATION
        except Unavailable:
            return INSTALLATION

    def record_later(self, refusal: ClearwellError, by: Principal, group_id: str | None, what: str) -> None:
        """Record a refusal of a method that is not asynchronous."""
        self._start(self.record(refusal, by, group_id, what))

    def record_stranger(self, refusal: Unauthenticated | NotAllowed) -> None:
        """Count a request whose caller was not recognised."""
        counted = self._strangers.get(refusal.code, 0)
        self._strangers[refusal.code] = counted + 1
        if not counted:
            self._start(self._record_strangers(refusal.code))

    async def flush(self) -> None:
        """Write what is still counted or on its way."""
        for code in [*self._strangers]:
            await self._write_strangers(code)
        pending = [task for task in self._tasks if task.get_name() != _COUNTING]
        if pending:
            await asyncio.wait(pending)
        for task in [*self._tasks]:
            task.cancel()

    async def _record_strangers(self, code: str) -> None:
        if (task := asyncio.current_task()) is not None:
            task.set_name(_COUNTING)
        await asyncio.sleep(STRANGER_SECONDS)
        await self._write_strangers(code)

    async def _write_strangers(self, code: str) -> None:
        times = self._strangers.pop(code, 0)
        if times:
            await self._add("request", INSTALLATION, STRANGER, {"why": code, "times": times})

    async def _add(self, what: str, group_id: str, actor: str, detail: Mapping[str, Json]) -> None:
        event = self._audit_events.make(AuditAction.REFUSED, what, group_id, by=actor, at=None, **detail)
        try:
            await self._audit.add(event)
        except Unavailable as error:
            # The caller is refused even if the audit cannot be written.
            log.warning("refusal not recorded", what=what, actor=actor, reason=error.code)

    def _start(self, work: Any) -> None:
        try:
            task = asyncio.get_running_loop().create_task(work)
        except RuntimeError:  # called outside of a loop: nothing of the program runs there
            work.close()
            return
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_COUNTING: Final = "count unknown callers"


class Facade(Protocol):
    """What ``record_refusals`` needs of a facade: its caller and the gate."""

    _by: Principal
    _gate: AccessGate


def record_refusals(cls: C) -> C:
    """Have the public methods of a facade record their refusals."""
    for name, method in list(vars(cls).items()):
        if name.startswith("_") or not inspect.isfunction(method) or name == "acting_as":
            continue
        guard = _guard_async if inspect.iscoroutinefunction(method) else _guard_sync
        setattr(cls, name, guard(method))
    return cls


def _guard_async(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def guarded(self: Facade, *args: Any, **kwargs: Any) -> Any:
        try:
            result = await method(self, *args, **kwargs)
        except (NotAllowed, Conflict) as refusal:
            await self._gate.record(refusal, self._by, _named_group(self, args, kwargs), _describe(method, args))
            raise
        if isinstance(result, list):
            for place, refused in _find_refusals(result):
                group = _named_group(self, args, kwargs, place=place)
                await self._gate.record(refused, self._by, group, _describe(method, args))
        return result

    return guarded


def _guard_sync(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def guarded(self: Facade, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except (NotAllowed, Conflict) as refusal:
            self._gate.record_later(refusal, self._by, _named_group(self, args, kwargs), _describe(method, args))
            raise

    return guarded


def _find_refusals(results: Iterable[object]) -> list[tuple[int, NotAllowed | Conflict]]:
    return [(place, one) for place, one in enumerate(results) if isinstance(one, NotAllowed | Conflict)]


def _named_group(
    facade: Facade, args: tuple[object, ...], kwargs: Mapping[str, object], *, place: int | None = None
) -> str | None:
    """The group that the call names, or the item at this place of a batch, or the only one of its caller."""
    named = kwargs.get("group")
    asked = args[0] if args else None
    if place is not None and isinstance(asked, Sequence) and place < len(asked):
        asked = asked[place]
    if named is None and isinstance(asked, NewCapture):
        named = asked.group_id
    if named is None and facade._by.groups is not None and len(facade._by.groups) == 1:
        (named,) = facade._by.groups
    return named if isinstance(named, str) else None


def _describe(method: Callable[..., Any], args: tuple[object, ...]) -> str:
    """What was attempted: the method in words, and the ids among its arguments. Texts are left out."""
    words = [method.__name__.replace("_", " ")]
    for argument in args:
        if isinstance(argument, UUID):
            words.append(str(argument))
        elif isinstance(argument, DecisionRequest):
            words = [argument.action.value, "insight", str(argument.id)]
    return " ".join(words)


def _audited_group(group_id: str | None) -> str:
    """The group of a refusal's event: that of the installation if none was named or its name is not valid."""
    try:
        return INSTALLATION if group_id is None else limits.require_group(group_id)
    except ClearwellError:
        return INSTALLATION
