"""The client has the methods, parameters and results of the library, so that programs can change from one to the other.

A method that is added to the memory manager is added to the client too (``client/client.py`` or ``client/review.py``),
or to the lists below with the reason why a server does not offer it.
"""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import pytest

import clearwell.client.client
import clearwell.client.review
import clearwell.flow.review.service
import clearwell.records
import clearwell.service
from clearwell.client.client import AsyncClient
from clearwell.client.review import AsyncReviewClient
from clearwell.flow.idempotency import CallKey
from clearwell.flow.review import ReviewService
from clearwell.service import MemoryManager

WITHOUT_ROUTE = {
    "acting_as": "the caller of a client is the holder of its key",
    "log_quarantine": "one half of capture, for programs that admit in a second step",
    "update_working_memory": "the other half of capture",
    "rebuild_working_memory": "maintenance by an operator: clearwell working rebuild",
    "cleanup_working_memory": "maintenance by an operator; entries that have expired are never returned",
    "find_undoable": "for the console; decisions lists them",
    "group_of": "for adapters that are given an id alone",
}
"""Methods of the library that the client does not have."""
OF_THE_PROCESS = {
    "requeue": {"settle": "who runs the ingress pipeline is the server's to decide"},
    "requeue_refused": {"settle": "who runs the ingress pipeline is the server's to decide"},
    "build_context": {"counter": "a function cannot be sent; the server counts tokens"},
}
"""Parameters of the library that the client does not have, by method."""
OWN = {"close", "is_alive"}
"""Methods that only a client has."""

NAMES = {
    **vars(clearwell.records),
    **vars(clearwell.flow.review.service),
    **vars(clearwell.service),
    **vars(clearwell.client.client),
    **vars(clearwell.client.review),
}
"""Where the names in annotations are found; the client imports some only for the type checker."""
PAIRS = [(MemoryManager, AsyncClient), (ReviewService, AsyncReviewClient)]


def methods(service: type) -> dict[str, Callable[..., Any]]:
    members = inspect.getmembers(service, inspect.isfunction)
    return {name: method for name, method in members if not name.startswith("_")}


def shared() -> list[tuple[type, type, str]]:
    return [(there, here, name) for there, here in PAIRS for name in methods(there) if name not in WITHOUT_ROUTE]


@pytest.mark.parametrize(("library", "client", "name"), shared())
def test_a_method_of_the_library_is_one_of_the_client(library: type, client: type, name: str) -> None:
    assert name in methods(client), (
        f"{library.__name__}.{name} has no counterpart. Add {name} to {client.__name__} ({client.__module__}), calling "
        f"a method of client/routes.py or client/review_routes.py, or name it in WITHOUT_ROUTE here with the reason."
    )
    expected, found = describe(methods(library)[name]), describe(methods(client)[name])
    for parameter in OF_THE_PROCESS.get(name, {}):
        expected.pop(parameter)
    assert found == expected, f"{client.__name__}.{name} differs from {library.__name__}.{name}; make them the same."


def test_the_client_has_no_method_of_its_own() -> None:
    for library, client in PAIRS:
        assert set(methods(client)) - set(methods(library)) <= OWN


def test_what_is_left_out_exists_and_is_left_out() -> None:
    names = {name for library, _ in PAIRS for name in methods(library)}
    offered = {name for _, client in PAIRS for name in methods(client)}
    assert set(WITHOUT_ROUTE) <= names
    assert not set(WITHOUT_ROUTE) & offered, "it has a route now: remove it from WITHOUT_ROUTE"
    assert isinstance(inspect.getattr_static(AsyncClient, "review"), object)


def describe(method: Callable[..., Any]) -> dict[str, tuple[object, ...]]:
    """The parameters of a method in their order: kind, default and type; and what it returns."""
    types = get_type_hints(inspect.unwrap(method), globalns=NAMES)
    described: dict[str, tuple[object, ...]] = {
        parameter.name: (parameter.kind, parameter.default, _simplify(types[parameter.name]))
        for parameter in inspect.signature(method).parameters.values()
        if parameter.name != "self"
    }
    described["return"] = (inspect.iscoroutinefunction(inspect.unwrap(method)), _simplify(types["return"]))
    return described


def _simplify(annotation: object) -> str:
    """A client's key is a text; in the library the HTTP adapter can pass the key that it made."""
    return str(str | None) if annotation == CallKey else str(annotation)
