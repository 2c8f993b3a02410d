"""Prompts are files, one for each language: ``<name>.<language>.md``, in parts that begin with ``# <part>``.

``$names`` in a part are substituted once; substituted text is not searched for names again.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Template
from types import MappingProxyType

from clearwell.messages import Language


@cache
def load_prompt(name: str, language: Language) -> Mapping[str, Template]:
    """Load the parts of a prompt by their headings."""
    text = files("clearwell.models").joinpath("prompts", f"{name}.{language}.md").read_text(encoding="utf-8")
    _, *pieces = re.split(r"^# (\w+)$", text, flags=re.MULTILINE)
    parts = {heading: Template(body.strip()) for heading, body in zip(pieces[::2], pieces[1::2], strict=True)}
    return MappingProxyType(parts)
