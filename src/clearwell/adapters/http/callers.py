"""Who is asking: the key a request shows, or the person at the machine."""

from collections.abc import Mapping
from typing import Annotated, cast
from uuid import UUID

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from clearwell.adapters.http.inputs import Grouped
from clearwell.adapters.http.local import is_loopback, require_local
from clearwell.adapters.http.problems import Flaw, WrongStructure
from clearwell.app import Clearwell
from clearwell.errors import ConfigurationError, InvalidInput, Unauthenticated
from clearwell.records import Principal

ACTOR = "Clearwell-Actor"
AGENT = "agent"


def running(request: HTTPConnection) -> Clearwell:
    """Everything that the lifespan opened."""
    return cast(Clearwell, request.app.state.clearwell)


async def caller(request: Request) -> Principal:
    """The caller, with rights lowered where it acts for an agent. Raises Unauthenticated or NotAllowed."""
    clearwell = running(request)
    secret = _secret(request)
    local = secret is None and is_loopback(clearwell.settings.host)
    principal = await clearwell.keys.authenticate(secret, local=local)
    if secret is None:
        require_local(request, port=clearwell.settings.port)
    return principal.lowered() if _acts_for_agent(request) else principal


Caller = Annotated[Principal, Depends(caller)]


def _secret(request: HTTPConnection) -> str | None:
    shown = request.headers.get("authorization")
    if shown is None:
        return None
    scheme, _, secret = shown.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthenticated("http_authorization_form")
    return secret.strip()


def _acts_for_agent(request: HTTPConnection) -> bool:
    actor = request.headers.get(ACTOR)
    if actor is None:
        return False
    if actor.strip().lower() != AGENT:
        raise InvalidInput("http_actor_unknown", field=ACTOR, limit=AGENT)
    return True


async def require_closed_or_local(clearwell: Clearwell) -> None:
    """Refuse to listen where other machines may ask while nobody needs a key."""
    host = clearwell.settings.host
    if not is_loopback(host) and not await clearwell.keys.any_key_ever():
        raise ConfigurationError("bind_without_key", host=host)


def group_in(given: Grouped, principal: Principal) -> str:
    """The group that was named, or the only one of the key. Raises WrongStructure where there is neither."""
    found = given.named_group if given.named_group is not None else _only_group(principal)
    if found is None:
        raise WrongStructure([Flaw("http_group_which", "group_id")])
    return found


def group_of_row(named: str | None, principal: Principal) -> str:
    """The group of a row that is named by its id. A key of exactly one group need not say it."""
    found = named if named is not None else _only_group(principal)
    if found is None:
        raise InvalidInput("http_group_which", field="group_id")
    return found


async def group_of(request: Request, principal: Principal, kind: str, one: UUID, named: str | None) -> str:
    """The group of something that is named by its id: it may be left out, and is then looked for."""
    return named if named is not None else await running(request).review.group_of(kind, one, by=principal)


async def names(request: Request) -> Mapping[str, str]:
    """What keys are called, by how their holders are recorded."""
    return await running(request).keys.list_names()


def _only_group(principal: Principal) -> str | None:
    groups = principal.groups or frozenset()
    return next(iter(groups)) if len(groups) == 1 else None
