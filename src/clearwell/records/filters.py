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
class Where:
    """All of these conditions must hold; None means no condition.

    ``since`` (included) and ``until`` (not) are of when it was said, else of when it was promoted or captured.
    ``as_of`` asks for what was verified then; without it, for what is verified now. With
    ``still_valid`` what has been withdrawn since then is left out.
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


EVERYTHING = Where()
