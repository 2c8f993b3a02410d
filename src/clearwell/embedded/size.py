"""The size of the data of the bundled servers."""

import os
from dataclasses import dataclass
from pathlib import Path

from clearwell.embedded.folders import DataFolder


@dataclass(frozen=True)
class DataSize:
    """Bytes of files, by part of the data folder."""

    postgres: int
    valkey: int
    logs: int

    @property
    def total(self) -> int:
        return self.postgres + self.valkey + self.logs


def data_size(data_dir: Path) -> DataSize:
    """Return the current size of the data folder; zero for parts that do not exist."""
    data = DataFolder(Path(os.path.realpath(data_dir)))
    return DataSize(
        postgres=_bytes_below(data.postgres), valkey=_bytes_below(data.valkey), logs=_bytes_below(data.logs)
    )


def _bytes_below(folder: Path) -> int:
    return sum(_size(Path(parent, name)) for parent, _, names in os.walk(folder) for name in names)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except FileNotFoundError:  # a running server removes files at any time
        return 0
