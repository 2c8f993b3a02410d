"""The word lists, one file per language, and units."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def words(name: str) -> Mapping[str, Any]:
    """Return the content of one file of word lists."""
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
