"""What every record is made of: JSON, vectors, and the fixed sets of words."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


Metadata: TypeAlias = Mapping[str, Json]


Vector: TypeAlias = npt.NDArray[np.float32]


UNASSIGNED: Final = "unassigned"
"""The reserved group of captures that named none."""


NOTHING: Final[Metadata] = MappingProxyType({})


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
