"""What the load has asked for and what was answered: the side of the caller, against which the stores are checked."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from uuid import UUID

SUBJECTS = ("billing export", "search index", "mobile login", "audit archive", "parts catalogue", "route planner")
PLACES = ("Oslo", "Lima", "Nairobi", "Osaka", "Lyon", "Quito", "Hanoi", "Tampere", "Perth", "Gdansk")
EVENTS = (
    "stopped answering for {n} minutes after the certificate of the gateway had expired",
    "now serves {n} tenants, because the second shard was opened to them",
    "lost {n} messages of its queue, which the operators restored from the archive",
    "needs {n} gigabytes of memory since the cache keeps whole documents",
    "was moved to rack {n}, and its latency fell by a third",
    "rejects uploads above {n} megabytes, as the customer had asked",
)
TEAMS = ("the storage team", "the night shift", "the vendor", "the architects", "the auditors")


class Kind(StrEnum):
    """What a write does."""

    CAPTURE = "capture by the client"
    RAW_CAPTURE = "capture by plain HTTP"
    PROMOTE = "promotion of a text"
    ACCEPT = "promotion of an insight"
    REJECT = "rejection of an insight"
    DIGEST = "digest"
    FORGET = "forget"


@dataclass(slots=True)
class Write:
    """One write: what was asked, and what was answered."""

    kind: Kind
    group_id: str
    key: str
    text: str = ""
    subject: UUID | None = None
    """What it is about: the insight or the output."""
    acknowledged: bool = False
    refused: str = ""
    """The code of the problem, if the server answered that it did not do it."""
    id: UUID | None = None
    """What the answer names."""
    chunks: int = 0
    gone: tuple[UUID, ...] = ()
    """What an answered forget says it has removed."""


@dataclass(slots=True)
class Ledger:
    """Every write of a run, and the texts for the next."""

    random: Random
    writes: list[Write] = field(default_factory=list)
    surprises: Counter[str] = field(default_factory=Counter)
    """Answers that no fault explains."""
    number: int = 0

    def new_text(self) -> str:
        """A statement that no other write has made."""
        self.number += 1
        pick = self.random.choice
        event = pick(EVENTS).format(n=self.random.randrange(2, 900))
        return (
            f"Record {self.number:06d}: the {pick(SUBJECTS)} in {pick(PLACES)} {event}; {pick(TEAMS)} confirmed it "
            f"under number {self.random.randrange(10**8):08d}."
        )

    def begin(self, kind: Kind, group_id: str, *, text: str = "", subject: UUID | None = None) -> Write:
        """Note a write before it is sent."""
        write = Write(kind, group_id, f"k{len(self.writes):07d}", text, subject)
        self.writes.append(write)
        return write

    def of(self, groups: Sequence[str]) -> list[Write]:
        return [write for write in self.writes if write.group_id in frozenset(groups)]

    def find_forgotten(self) -> set[UUID]:
        """What an acknowledged forget has removed, or one that was not answered may have."""
        gone = {log_id for write in self.writes for log_id in write.gone}
        return gone | {
            write.subject
            for write in self.writes
            if write.kind is Kind.FORGET and write.subject is not None and not write.refused
        }
