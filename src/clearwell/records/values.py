"""Parts of records: JSON, vectors and keys of chunks. The fixed sets of words are in ``clearwell.vocabulary``."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


Metadata: TypeAlias = Mapping[str, Json]


Vector: TypeAlias = npt.NDArray[np.float32]


ChunkKey: TypeAlias = tuple[UUID, int]
"""The memory of a chunk and its number in it."""


UNASSIGNED: Final = "unassigned"
"""The reserved group of captures without a group."""
ASSIGN: Final = "assign"
"""The route in the idempotency key of a row that was assigned; after it comes the id of the output without a group."""


NOTHING: Final[Metadata] = MappingProxyType({})


def make_json(value: object) -> Json:
    """Return a value of a record as JSON: ids and times as text, tuples as lists."""
    match value:
        case None | bool() | int() | float():
            return value
        case datetime():
            return value.isoformat()
        case Mapping():
            return {str(name): make_json(each) for name, each in value.items()}
        case list() | tuple():
            return [make_json(each) for each in value]
        case _:
            return str(value)
