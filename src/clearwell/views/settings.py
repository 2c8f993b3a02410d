"""Settings as they may be shown: without passwords and keys."""

import re
from urllib.parse import parse_qsl, urlencode, urlsplit

from pydantic import SecretStr

MASK = "****"
_PASSWORD_PARAMETERS = frozenset({"password", "sslpassword", "passfile"})
_CONNINFO_PASSWORD = re.compile(r"\b((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|\S+)", re.IGNORECASE)


def mask_address(address: str) -> str:
    """A URL or a PostgreSQL connection string, its password hidden."""
    if "://" not in address:
        return _CONNINFO_PASSWORD.sub(rf"\1{MASK}", address)
    scheme, _, rest = address.partition("://")
    try:
        parts = urlsplit(f"//{rest}")
    except ValueError:
        return MASK
    login, at, host = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    query = f"?{_mask_query(parts.query)}" if parts.query else ""
    return f"{scheme}://{user}{colon}{MASK if colon else ''}{at}{host}{parts.path}{query}"


def _mask_query(query: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    if not any(name.lower() in _PASSWORD_PARAMETERS for name, _ in pairs):
        return query
    hidden = [(name, MASK if name.lower() in _PASSWORD_PARAMETERS else value) for name, value in pairs]
    return urlencode(hidden, safe="/*")


def mask_setting(name: str, value: object) -> object:
    """A setting's value as it may be shown."""
    if isinstance(value, SecretStr):
        return mask_address(value.get_secret_value()) if name.endswith("_url") else MASK
    if isinstance(value, str) and "://" in value:
        return mask_address(value)
    return value


def write_setting(name: str, value: object) -> str:
    """A setting's value in words, as it may be shown."""
    shown = mask_setting(name, value)
    if shown is None:
        return "–"
    if isinstance(shown, tuple):
        return " ".join(repr(one) for one in shown)
    return str(shown).lower() if isinstance(shown, bool) else str(shown)
