"""The key that signs the audit trail and receipts. It is kept outside of the database.

It is an Ed25519 key. Its seed is the setting ``audit_key``, or the file ``audit.key`` in the data folder, which is made
when it is first needed and which only its owner can read. All processes of an installation need the same key.
"""

import base64
import binascii
import os
import secrets
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from clearwell.errors import ConfigurationError
from clearwell.ports import SignatureState
from clearwell.settings import Settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

FILE_NAME: Final = "audit.key"
SEED_BYTES: Final = 32
KEY_ID_BYTES: Final = 8
FINGERPRINT_DIGITS: Final = 40


class SigningKey:
    """Signs, and verifies what it has signed. A signature begins with the id of its key."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed

    @classmethod
    def generate(cls) -> "SigningKey":
        return cls(secrets.token_bytes(SEED_BYTES))

    @cached_property
    def _private(self) -> "Ed25519PrivateKey":
        # Imported when something is signed: it takes longer than most commands of the command line.
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self._seed)

    @cached_property
    def public_bytes(self) -> bytes:
        return self._private.public_key().public_bytes_raw()

    @property
    def public_key(self) -> str:
        """The public key in base64: with it anyone can verify a signature."""
        return base64.b64encode(self.public_bytes).decode()

    @cached_property
    def key_id(self) -> bytes:
        return sha256(self.public_bytes).digest()[:KEY_ID_BYTES]

    def sign(self, data: bytes) -> bytes:
        return self.key_id + self._private.sign(data)

    def verify(self, data: bytes, signature: bytes) -> SignatureState:
        """Whether this key has signed the data; UNKNOWN_KEY if the signature names another key."""
        from cryptography.exceptions import InvalidSignature

        if signature[:KEY_ID_BYTES] != self.key_id:
            return SignatureState.UNKNOWN_KEY
        try:
            self._private.public_key().verify(signature[KEY_ID_BYTES:], data)
        except InvalidSignature:
            return SignatureState.INVALID
        return SignatureState.VALID

    def verify_other(self, public_key: str, data: bytes, signature: bytes) -> bool:
        """Whether the owner of this public key, here or elsewhere, has signed the data."""
        return verify_signature(public_key, data, signature)

    def fingerprint(self, public_key: str) -> str:
        """A short name of a public key, to compare it by eye. Raises ValueError if it is no key."""
        return fingerprint(public_key)


def fingerprint(public_key: str) -> str:
    """A short name of a public key, to compare it by eye. Raises ValueError if it is no key."""
    return sha256(_decode_public_key(public_key)).hexdigest()[:FINGERPRINT_DIGITS]


def verify_signature(public_key: str, data: bytes, signature: bytes) -> bool:
    """Whether the owner of this public key has signed the data. Raises ValueError if it is no key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = _decode_public_key(public_key)
    if signature[:KEY_ID_BYTES] != sha256(key).digest()[:KEY_ID_BYTES]:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature[KEY_ID_BYTES:], data)
    except InvalidSignature:
        return False
    return True


def _decode_public_key(public_key: str) -> bytes:
    key = base64.b64decode(public_key, validate=True)
    if len(key) != SEED_BYTES:
        raise ValueError("not an Ed25519 key")
    return key


def load_signing_key(settings: Settings) -> SigningKey:
    """Return the key of the settings, or that of the data folder, which is made if there is none.

    Raises ConfigurationError if the key cannot be read or others can read it.
    """
    if settings.audit_key is not None:
        return SigningKey(_decode(settings.audit_key.get_secret_value(), "CLEARWELL_AUDIT_KEY"))
    path = settings.data_dir / FILE_NAME
    try:
        if not path.exists():
            _create(path)
        return SigningKey(_read(path))
    except OSError as error:
        raise ConfigurationError("audit_key_unreadable", path=path, reason=error.strerror or str(error)) from error


def _create(path: Path) -> None:
    """Write a new key. If two processes do so at once, the key of one of them stays."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = path.with_name(f".{FILE_NAME}.{secrets.token_hex(8)}")
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(base64.b64encode(secrets.token_bytes(SEED_BYTES)).decode() + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(made, path)
        except FileExistsError:
            return
    finally:
        made.unlink()


def _read(path: Path) -> bytes:
    found = path.stat()
    if os.name == "posix" and (found.st_mode & 0o077 or found.st_uid != os.geteuid()):
        raise ConfigurationError("audit_key_exposed", path=path, mode=f"{found.st_mode & 0o777:o}")
    return _decode(path.read_text().strip(), str(path))


def _decode(text: str, place: str) -> bytes:
    try:
        seed = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        seed = b""
    if len(seed) != SEED_BYTES:
        raise ConfigurationError("audit_key_invalid", place=place)
    return seed
