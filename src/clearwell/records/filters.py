"""Conditions that memories of a search must meet."""

from dataclasses import dataclass
from datetime import datetime

from clearwell.records.values import Json
from clearwell.vocabulary import Operator, Scope


@dataclass(frozen=True, slots=True)
class Condition:
    """One comparison: the value at ``path`` in the metadata, against ``value``."""

    path: tuple[str, ...]
    operator: Operator
    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """All of these conditions must hold; None means no condition.

    ``since`` (inclusive) and ``until`` (exclusive) apply to the time when it was said, or else promoted or captured.
    ``as_of`` selects what was verified at that time, instead of now. With ``still_valid``, what has been withdrawn
    since then is left out, but not what another memory has superseded.
    """

    since: datetime | None = None
    until: datetime | None = None
    session_id: str | None = None
    as_of: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    scope: Scope | None = None
    still_valid: bool = False

    @property
    def everything(self) -> bool:
        return not self.conditions and (self.since, self.until, self.session_id, self.as_of, self.scope) == (None,) * 5


EVERYTHING = SearchFilter()
