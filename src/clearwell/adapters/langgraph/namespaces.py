"""The namespaces of the store: ``(group, "verified")`` is long-term memory, ``(group, "working")`` working memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from langgraph.store.base import ListNamespacesOp, MatchCondition

from clearwell.errors import InvalidInput
from clearwell.records import Source


class Tier(StrEnum):
    """The second label of a namespace."""

    VERIFIED = "verified"
    WORKING = "working"

    @property
    def source(self) -> Source:
        return Source.COLD if self is Tier.VERIFIED else Source.HOT


@dataclass(frozen=True, slots=True)
class Place:
    """A group, and one of its tiers or both."""

    group: str
    tier: Tier | None

    @property
    def sources(self) -> tuple[Source, ...]:
        return (Source.HOT, Source.COLD) if self.tier is None else (self.tier.source,)


def read_namespace(namespace: tuple[str, ...]) -> Place:
    """Read a namespace of items. Raises InvalidInput unless it is a group and a tier."""
    place = read_prefix(namespace)
    if place.tier is None:
        raise _refuse(namespace)
    return place


def read_prefix(namespace: tuple[str, ...]) -> Place:
    """Read the prefix of a search. Raises InvalidInput unless it is a group, or a group and a tier."""
    if len(namespace) not in (1, 2) or not all(namespace):
        raise _refuse(namespace)
    if len(namespace) == 1:
        return Place(namespace[0], None)
    if namespace[1] not in set(Tier):
        raise _refuse(namespace)
    return Place(namespace[0], Tier(namespace[1]))


def list_namespaces(groups: Iterable[str], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """The namespaces of groups that an operation asks for."""
    namespaces = [(group, str(tier)) for group in groups for tier in Tier]
    found = {
        namespace[: op.max_depth]
        for namespace in namespaces
        if all(_matches(condition, namespace) for condition in op.match_conditions or ())
    }
    return sorted(found)[op.offset : op.offset + op.limit]


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    """Whether a namespace begins or ends with the path of a condition, in which * stands for any label."""
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _refuse(namespace: tuple[str, ...]) -> InvalidInput:
    group = namespace[0] if namespace and namespace[0] else "group"
    return InvalidInput("store_namespace", field="namespace", namespace=repr(tuple(namespace)), group=group)
