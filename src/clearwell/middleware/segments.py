"""Segment files: captures in the order in which they were written, each in a frame with its length and a checksum.

A frame that was not written to its end, because the process or the machine stopped, ends the segment: what comes
before it is read.
"""

import json
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Final

from clearwell.records import NewCapture

SUFFIX: Final = ".segment"
FRAME: Final = struct.Struct("<IIQ")
"""The header of a frame: length of the payload, checksum of number and payload, number of the capture."""
NUMBER: Final = struct.Struct("<Q")
LONGEST_PAYLOAD: Final = 64 * 1024 * 1024
PRIVATE: Final = 0o600
FIELDS: Final = frozenset(field.name for field in fields(NewCapture))


@dataclass(frozen=True, slots=True)
class Frame:
    """One capture of a segment, and where its frame ends."""

    number: int
    payload: bytes
    end: int


class SegmentFile:
    """One file. ``last`` is the highest number in it, ``size`` the length of its valid part."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last = int(path.stem) - 1
        self.size = 0
        self._descriptor: int | None = None

    @classmethod
    def read(cls, path: Path) -> "SegmentFile":
        """Read a segment of an ended process up to the first frame that is not whole."""
        segment = cls(path)
        for frame in segment.frames():
            segment.last, segment.size = frame.number, frame.end
        return segment

    def append(self, number: int, payload: bytes) -> None:
        """Write a frame at the end. Raises OSError, and then the file is as before."""
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(self.path, flags, PRIVATE)
        frame = FRAME.pack(len(payload), _checksum(number, payload), number) + payload
        written = os.write(self._descriptor, frame)
        if written < len(frame):
            os.ftruncate(self._descriptor, self.size)
            raise OSError(f"only {written} of {len(frame)} bytes were written to {self.path}")
        self.last, self.size = number, self.size + len(frame)

    def frames(self, offset: int = 0) -> Iterator[Frame]:
        """Read whole frames from this offset on."""
        with self.path.open("rb") as file:
            file.seek(offset)
            while len(header := file.read(FRAME.size)) == FRAME.size:
                length, checksum, number = FRAME.unpack(header)
                payload = file.read(length) if length <= LONGEST_PAYLOAD else b""
                if len(payload) < length or checksum != _checksum(number, payload):
                    return
                offset += FRAME.size + length
                yield Frame(number, payload, offset)

    def empty(self) -> None:
        """Remove the content of a file that is still written to."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)
        self.size = 0

    def sync(self) -> None:
        """Have the content written to the disk."""
        if (descriptor := self._descriptor) is not None:
            os.fsync(descriptor)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def remove(self) -> None:
        self.close()
        self.path.unlink(missing_ok=True)


def name_segment(number: int) -> str:
    """The file name of the segment that begins with this number. Names sort like numbers."""
    return f"{number:016d}{SUFFIX}"


def encode_capture(new: NewCapture) -> dict[str, object]:
    """The fields of a capture as JSON."""
    values = {name: getattr(new, name) for name in FIELDS}
    return {
        **values,
        "metadata": dict(new.metadata),
        "occurred_at": None if new.occurred_at is None else new.occurred_at.isoformat(),
    }


def decode_capture(payload: bytes) -> NewCapture:
    """The capture of a frame. Fields that this version does not know are ignored."""
    values = {name: value for name, value in json.loads(payload).items() if name in FIELDS}
    occurred_at = values.pop("occurred_at", None)
    return NewCapture(**values, occurred_at=None if occurred_at is None else datetime.fromisoformat(occurred_at))


def _checksum(number: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(NUMBER.pack(number)))
