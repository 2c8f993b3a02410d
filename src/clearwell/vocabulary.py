"""The fixed sets of words: states, outcomes, labels and the like, each spelt in one place.

Records, views and the ways in share them. They are a module of their own because a client needs them without records.
"""

from enum import StrEnum


class Layer(StrEnum):
    """The tier an entry is in."""

    QUARANTINE = "quarantine"
    WORKING = "working"
    LONGTERM = "longterm"


class Admission(StrEnum):
    """Where a captured row stands between quarantine and working memory."""

    PENDING = "pending"
    ADMITTED = "admitted"
    REFUSED = "refused"


class Outcome(StrEnum):
    """How one check of the ingress filter ended."""

    PASS = "pass"
    FAIL = "fail"
    FLAG = "flag"
    PENDING = "pending"
    NOT_CHECKED = "not_checked"


class Source(StrEnum):
    """The side of retrieval an item came from."""

    HOT = "hot"
    COLD = "cold"


class Label(StrEnum):
    """What a reader must know of an item."""

    EPHEMERAL = "ephemeral"
    VERIFIED = "verified"


class Scope(StrEnum):
    """Whose memory it is: the group's, or one agent's own experience."""

    GROUP = "group"
    AGENT = "agent"


class TombstoneKind(StrEnum):
    """Why a value must not come back."""

    REJECTED = "rejected"
    FORGOTTEN = "forgotten"


class Origin(StrEnum):
    """What a promotion was made from."""

    TYPED = "typed"
    WORKING = "working"
    QUARANTINE = "quarantine"
    INSIGHT = "insight"


class Right(StrEnum):
    """What a key may be allowed to do."""

    CAPTURE = "capture"
    READ = "read"
    REVIEW = "review"
    ADMIN = "admin"


class Operator(StrEnum):
    """How a value of metadata may be compared. There are no others."""

    EQ = "eq"
    NE = "ne"
    IN = "in"
    NIN = "nin"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    EXISTS = "exists"
    CONTAINS = "contains"


class Section(StrEnum):
    """The five parts of a context, in the protocol's order."""

    GROUP_PROMPT = "group_prompt"
    PERSONA = "persona"
    GROUP_MEMORY = "group_memory"
    AGENT_MEMORY = "agent_memory"
    PROPOSAL = "proposal"


class Fate(StrEnum):
    """What became of a part within the budget."""

    INCLUDED = "included"
    CUT = "cut"
    LEFT_OUT = "left_out"
    EMPTY = "empty"


class NodeEventType(StrEnum):
    """The protocol's names."""

    STATE_CHANGE = "node_state_change"
    RETRIEVED = "memory_retrieved"
    ERROR = "memory_retrieval_error"


class Relation(StrEnum):
    """How a new statement relates to a known one."""

    SAME = "same"
    CONFLICT = "conflict"
    DIFFERENT = "different"


class DigestStatus(StrEnum):
    """Where a run of the digest stands."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class InsightState(StrEnum):
    """What a person made of an insight. ``promoting`` is only read: promoted, and its memory is still to come."""

    PENDING = "pending"
    PROMOTING = "promoting"
    PROMOTED = "promoted"
    REJECTED = "rejected"
    SNOOZED = "snoozed"
    MERGED = "merged"


class Writer(StrEnum):
    """Who wrote the words of an insight: quoted from its sources, a language model, or a person."""

    EXTRACTIVE = "extractive"
    MODEL = "model"
    PERSON = "person"


class Action(StrEnum):
    """What a person can do."""

    PROMOTE = "promote"
    REJECT = "reject"
    MERGE = "merge"
    SNOOZE = "snooze"
    RETRACT = "retract"
    UNDO = "undo"
