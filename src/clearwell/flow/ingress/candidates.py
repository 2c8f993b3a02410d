"""A capture on its way through the ingress pipeline, and what the group knows that it is compared with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from clearwell.flow.ingress.echo import OwnText
from clearwell.records import Capture, Judgement, Outcome, Segment, Sighting, Statement, Tombstone, Vector, Verdict


@dataclass(frozen=True, slots=True)
class ComparedText:
    """What is compared by itself: a statement of a capture or, if it has none, its whole text."""

    text: str
    vector: Vector | None = field(default=None, compare=False, repr=False)
    context: str = ""
    """What the statement is about, if it does not say so itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Something the group knows that is like a compared text, on the calibrated scale.

    ``of`` is the place of that text in ``Candidate.compared``.
    """

    sighting: Sighting
    content: str
    similarity: float
    of: int = 0
    context: str = ""
    """What the text is about, if it does not say so itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the group knows that bears on one capture."""

    neighbours: Sequence[Neighbour] = ()
    repeats_rest: bool = False
    """Whether the statements of a very long output that have no vectors stand word for word in what is like it."""
    tombstone: Tombstone | None = None
    near_rejected: tuple[Tombstone, float] | None = None
    recalled: Mapping[UUID, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Characters of the texts that a capture is compared with."""
        return sum(len(one.content) for one in self.neighbours) + sum(map(len, self.recalled.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A capture on its way through the ingress pipeline."""

    capture: Capture
    own: OwnText
    """What the agent said itself: the text that is compared. What is kept is what was captured."""
    segments: Sequence[Segment] = ()
    statements: Sequence[Statement] | None = None
    """The segments with the vectors of claims and decisions. None before the output is embedded."""
    compared: Sequence[ComparedText] = ()
    """The statements or, if there are none, the whole text."""
    verdicts: Sequence[Verdict] = ()
    flags: Sequence[str] = ()
    vector: Vector | None = None
    sightings: Sequence[Sighting] = ()
    judgement: Judgement | None = None
    given_up: Verdict | None = None

    @property
    def failed(self) -> bool:
        return any(verdict.outcome is Outcome.FAIL for verdict in self.verdicts)
