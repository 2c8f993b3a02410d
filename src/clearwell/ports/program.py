"""The clock, the ids and the signing key."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol
from uuid import UUID

FAR_AHEAD: Final = timedelta(minutes=20)
"""Longer than any pause or lease. What is due later was written before the clock was set back, and is due now."""


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the current time, aware and in UTC."""
        ...


class Ids(Protocol):
    def new(self) -> UUID:
        """Return a new id. Later ids sort after earlier ones."""
        ...


class SignatureState(StrEnum):
    """What a signature says about the data that it was made for."""

    VALID = "valid"
    INVALID = "invalid"
    UNKNOWN_KEY = "unknown_key"


class Signer(Protocol):
    @property
    def public_key(self) -> str:
        """The public key in base64."""
        ...

    def sign(self, data: bytes) -> bytes:
        """Sign data with the key of this installation, which is not in the database."""
        ...

    def verify(self, data: bytes, signature: bytes) -> SignatureState: ...

    def verify_other(self, public_key: str, data: bytes, signature: bytes) -> bool:
        """Whether the owner of this public key, here or elsewhere, has signed the data."""
        ...

    def fingerprint(self, public_key: str) -> str:
        """A short name of a public key, to compare it by eye. Raises ValueError if it is no key."""
        ...
