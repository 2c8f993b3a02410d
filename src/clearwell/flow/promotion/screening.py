"""Screening: a text that hides characters or speaks to its reader is promoted only by a person who says so.

Its flags go with it to the memory and to every item that retrieval returns. A memory is stored without invisible
characters, also in its author and metadata, unless the person wants them kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from clearwell.errors import Conflict, InvalidInput
from clearwell.messages import Word
from clearwell.offload import offload
from clearwell.records import Json, NewMemory
from clearwell.text.flags import find_flags
from clearwell.text.hidden_markup import find_hidden_markup
from clearwell.text.hidden_text import escape_hidden, has_hidden_text, show_hidden, strip_hidden
from clearwell.text.injection import detect_injection
from clearwell.vocabulary import Flag

ACKNOWLEDGED: Final = (Flag.HIDDEN_TEXT, Flag.INSTRUCTION_LIKE)
"""The flags that a person has to acknowledge."""
CARRIED: Final = (*ACKNOWLEDGED, Flag.CLAIMS_AUTHORITY)
"""The flags of a source that its memory has, too."""
SHOWN: Final = 200
"""How many characters of an instruction are shown."""


async def screen_text(text: NewMemory, sources: Sequence[str] = ()) -> NewMemory:
    """Return the text as it is stored, with its flags.

    ``text.flags`` are those of its sources, whose texts are ``sources``. Raises Conflict if a flag has to be
    acknowledged and was not; the error shows the place and the whole text.
    """
    if unknown := [flag for flag in text.acknowledge if flag not in ACKNOWLEDGED]:
        raise InvalidInput(
            "acknowledge_unknown",
            field="acknowledge",
            value=escape_hidden(unknown[0][:SHOWN]),
            limit=", ".join(ACKNOWLEDGED),
        )
    return await offload(len(text.content) + sum(map(len, sources)), _screen, text, sources)


def _screen(text: NewMemory, sources: Sequence[str]) -> NewMemory:
    beside = [text.author or "", *_list_strings(text.metadata)]
    found = {*text.flags, *find_flags(text.content, {})}
    if any(map(has_hidden_text, beside)):
        found.add(Flag.HIDDEN_TEXT)
    flags = tuple(flag for flag in CARRIED if flag in found)
    missing = [flag for flag in ACKNOWLEDGED if flag in flags and flag not in text.acknowledge]
    if missing:
        found_in = [place for flag in missing if (place := _find([text.content, *sources, *beside], flag)) is not None]
        shown = [place for place, _ in found_in]
        texts = list(dict.fromkeys(escape_hidden(whole) for _, whole in found_in))
        raise Conflict(
            "promotion_unacknowledged",
            current={"acknowledge": missing, "shown": shown, "texts": texts},
            what=Word(f"trait_{'_and_'.join(missing)}"),
            shown=" / ".join(shown),
            acknowledge=", ".join(f'"{flag}"' for flag in missing),
        )
    stored = replace(text, flags=flags, acknowledge=(), keep_invisible=False)
    return stored if text.keep_invisible else _strip_hidden(stored)


def _strip_hidden(text: NewMemory) -> NewMemory:
    """The text, its author and its metadata without invisible characters."""
    author = None if text.author is None else strip_hidden(text.author) or None
    metadata = {strip_hidden(name): _strip_value(value) for name, value in text.metadata.items()}
    return replace(text, content=strip_hidden(text.content), author=author, metadata=metadata)


def _strip_value(value: Json) -> Json:
    if isinstance(value, str):
        return strip_hidden(value)
    if isinstance(value, Mapping):
        return {strip_hidden(name): _strip_value(one) for name, one in value.items()}
    return [_strip_value(one) for one in value] if isinstance(value, list) else value


def _list_strings(value: Json | Mapping[str, Json]) -> list[str]:
    """The names and strings in metadata."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for name, one in value.items() for text in (name, *_list_strings(one))]
    return [text for one in value for text in _list_strings(one)] if isinstance(value, list) else []


def _find(texts: Sequence[str], flag: str) -> tuple[str, str] | None:
    """The first place in the texts that has the flag, with hidden characters written out, and the text that has it."""
    show = _show_hidden if flag == Flag.HIDDEN_TEXT else _show_instruction
    return next(((place, text) for text in texts if (place := show(text))), None)


def _show_hidden(text: str) -> str:
    return show_hidden(text) or escape_hidden(find_hidden_markup(text))


def _show_instruction(text: str) -> str:
    if detect_injection(text) is None:
        return ""
    line = next((line for line in text.splitlines() if detect_injection(line) is not None), text)
    return escape_hidden(line.strip()[:SHOWN])
