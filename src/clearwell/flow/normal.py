"""One form for all the ways to write the same value, so that a rejected value does not come back in disguise."""

import hashlib
import hmac
import re
import tomllib
import unicodedata
from functools import cache
from importlib.resources import files

from clearwell.flow.hidden import _INVISIBLE

SENTENCES = re.compile(r"(?<=[.!?。！？；;])\s*|\n+")
MOST_SENTENCES = 200


def normalised(text: str) -> str:
    """Compatibility forms, case, white space, hidden characters and look-alikes folded away."""
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    # NFKC once more: folding the case of some letters leaves them decomposed.
    plain = unicodedata.normalize("NFKC", folded).translate(_look_alikes())
    return "".join(plain.split()).strip(".。!！?？;；,，")


def values_of(text: str) -> list[str]:
    """The whole text and each sentence of it, normalised: a tombstone stands for a whole value, wherever it is said."""
    parts = [text, *SENTENCES.split(text)[:MOST_SENTENCES]]
    return list(dict.fromkeys(value for value in map(normalised, parts) if value))


def digest(value: str, secret: bytes) -> bytes:
    return hmac.new(secret, value.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()


@cache
def _look_alikes() -> dict[int, str]:
    text = files("clearwell.flow").joinpath("words/look_alikes.toml").read_text(encoding="utf-8")
    return {ord(one): latin for latin, others in tomllib.loads(text)["latin"].items() for one in others}
