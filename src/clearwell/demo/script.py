"""The script of the council: who speaks, what is asked, and what the scripted agents say."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from clearwell.messages import Language

CHAIR = "chair"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one node says in a meeting."""

    node: str
    agent: str
    text: str
    type: str = "agent"
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One meeting. The first two turns are for and against the proposal and run in parallel; the chair comes last."""

    session: str
    topic: str
    claim: str
    turns: tuple[Turn, ...]

    @property
    def debate(self) -> tuple[Turn, ...]:
        return self.turns[:2]

    @property
    def asides(self) -> tuple[Turn, ...]:
        return tuple(turn for turn in self.turns[2:] if turn.type != CHAIR)

    @property
    def verdict(self) -> Turn:
        return next(turn for turn in self.turns if turn.type == CHAIR)


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilScript:
    """All meetings. ``sides`` are words of the sides that the person of the demo chooses in a dispute."""

    prompt: str
    personas: Mapping[str, str]
    meetings: tuple[Meeting, ...]
    sides: tuple[str, ...]


def load_script(language: Language) -> CouncilScript:
    """Read the script that ships with Clearwell in this language."""
    text = files("clearwell.demo").joinpath(f"council_{language}.toml").read_text(encoding="utf-8")
    fields = tomllib.loads(text)
    return CouncilScript(
        prompt=fields["prompt"],
        personas={agent: role["persona"] for agent, role in fields["agents"].items()},
        meetings=tuple(
            Meeting(
                session=meeting["session"],
                topic=meeting["topic"],
                claim=meeting["claim"],
                turns=tuple(Turn(**{**turn, "text": turn["text"].strip()}) for turn in meeting["turns"]),
            )
            for meeting in fields["meetings"]
        ),
        sides=tuple(fields["review"]["sides"]),
    )
