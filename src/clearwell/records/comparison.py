"""The relation between two statements."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from clearwell.vocabulary import Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The relation, and the reason for it: a message code with its parameters, which quote the statements."""

    relation: Relation
    reason: str
    similarity: float
    params: Mapping[str, str] = field(default_factory=dict)
