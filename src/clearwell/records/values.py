"""What every record is made of: JSON and vectors. The fixed sets of words are in ``clearwell.vocabulary``."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


Metadata: TypeAlias = Mapping[str, Json]


Vector: TypeAlias = npt.NDArray[np.float32]


UNASSIGNED: Final = "unassigned"
"""The reserved group of captures without a group."""


NOTHING: Final[Metadata] = MappingProxyType({})
