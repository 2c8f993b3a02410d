"""A synthetic month of quarantine, the same for the same seed: what was planted in it is known.

Twenty agents, five sessions a day. Twelve topics, each said by several agents in Chinese and in English, in words of
their own; one agent floods a topic that nobody else speaks of with near-copies; some topics are contradicted by a few
agents (a number, a date, a time, a name, a negation); three rows in five are noise. Four styles, that share no
sentence: ``ops`` (short notes; the digest was tuned on it), ``field`` (longer notes about other things),
``facts`` (many subjects in the same few frames) and ``close`` (one team, one system). None is held out: the
digest's misses on each were looked at.

Rows carry what real rows carry: a stated confidence, the mark that admission gives to one row of two that contradict
each other, and now and then a memory that an agent quotes between fences before its own words.
"""

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias
from uuid import UUID

from clearwell.flow.ingress.echo import remove_fences
from clearwell.flow.ingress.segmentation import mark_quotations, segment_output
from clearwell.records import Admission, DigestRow, Statement
from clearwell.vocabulary import Flag

DATA: Final = Path(__file__).parent / "data"
STYLES: Final = ("ops", "field", "facts", "close")
AGENTS: Final = 20
DAYS: Final = 28
SESSIONS_A_DAY: Final = 5
NOISE: Final = 0.6
START: Final = datetime(2026, 3, 2, 8, tzinfo=UTC)
LANGUAGES: Final = ("en", "zh")
FLOOD: Final = "flood"
_OPENINGS: Final[Mapping[str, Sequence[str]]] = {
    "en": ("", "", "", "Note: ", "For the record: ", "Observation: ", "Update: ", "As discussed, "),
    "zh": ("", "", "", "备注：", "记录一下：", "观察：", "更新：", "如前所述，"),
}

_Line: TypeAlias = tuple[str | None, bool, str, str]
"""Topic, whether against it, agent, content."""
_MARKED: Final = 0.5
"""Share of the rows against a topic that admission marks, and a tenth of it of all others."""
_QUOTING: Final = 0.15
"""Share of the rows of the flood that somebody else quotes."""
_AGREES: Final = {"en": "Seen, nothing to add from my side.", "zh": "看到了，我没有补充。"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """What several agents say, in both languages, and what a few say against it."""

    name: str
    says: Mapping[str, Sequence[str]]
    against: Mapping[str, Sequence[str]] = field(default_factory=dict)
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    topics: Sequence[Topic]
    flood: Mapping[str, Sequence[str]]
    noise: Mapping[str, Sequence[str]]
    words: Mapping[str, Mapping[str, Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A row and what it is: of which topic, none for noise, and whether it speaks against the topic."""

    row: DigestRow
    topic: str | None
    against: bool = False
    quotes: str | None = None
    """What it quotes between fences."""


def month(style: str, seed: int, times: int = 1) -> list[Planted]:
    """The rows of a month, in order of time; everybody speaks this many times as often."""
    chance = random.Random(f"{style} {seed}")
    made = read(style)
    said: list[_Line] = [one for topic in made.topics for one in _spoken(topic, chance, times)]
    said += _flooded(made, chance)
    missing = round(len(said) * NOISE / (1 - NOISE))
    said += [(None, False, f"agent-{chance.randrange(AGENTS):02}", _noise(made, chance)) for _ in range(missing)]
    chance.shuffle(said)
    rows = [_row(*one, number, chance) for number, one in enumerate(said)]
    rows += [_quoting(one, number, chance) for number, one in enumerate(rows) if _is_quoted(one, chance)]
    return sorted(rows, key=lambda one: one.row.occurred_at)


def make_statements(one: Planted) -> tuple[Statement, ...]:
    """The statements of a row, without vectors, as admission makes them."""
    content, log_id = one.row.content, one.row.log_id
    memories = {} if one.quotes is None else {_quoted_id(log_id): one.quotes}
    segments = mark_quotations(segment_output(content), remove_fences(content, memories))
    return tuple(Statement(log_id=log_id, number=at, segment=each) for at, each in enumerate(segments))


def _quoted_id(log_id: UUID) -> UUID:
    return UUID(int=log_id.int ^ 1)


def _is_quoted(one: Planted, chance: random.Random) -> bool:
    return one.topic == FLOOD and chance.random() < _QUOTING


def _quoting(one: Planted, number: int, chance: random.Random) -> Planted:
    """Another agent that quotes a row and adds nothing."""
    language = "zh" if any("\u4e00" <= char <= "\u9fff" for char in one.row.content) else "en"
    agent = f"agent-{chance.randrange(AGENTS):02}"
    made = _row(None, False, agent, _AGREES[language], number, chance)
    fence = f'<memory id="{_quoted_id(made.row.log_id)}">{one.row.content}</memory>'
    return replace(made, row=replace(made.row, content=f"{fence}\n\n{made.row.content}"), quotes=one.row.content)


def _spoken(topic: Topic, chance: random.Random, times: int) -> Iterator[_Line]:
    """Three to nine agents, each once or a few times; against them one or two others, or twice as many."""
    agents = chance.sample(range(AGENTS), chance.randint(3, 9))
    rest = [agent for agent in range(AGENTS) if agent not in agents]
    for agent in agents:
        for _ in range(chance.randint(times, 4 * times)):
            yield topic.name, False, f"agent-{agent:02}", _worded(topic.says, chance)
    for agent in chance.sample(rest, chance.randint(1, 3)) if topic.against else ():
        for _ in range(chance.randint(1, times)):
            yield topic.name, True, f"agent-{agent:02}", _worded(topic.against, chance)


def _flooded(made: Style, chance: random.Random) -> list[_Line]:
    agent = f"agent-{chance.randrange(AGENTS):02}"
    return [(FLOOD, False, agent, _worded(made.flood, chance)) for _ in range(chance.randint(40, 60))]


def _worded(says: Mapping[str, Sequence[str]], chance: random.Random) -> str:
    language = chance.choice(LANGUAGES)
    return chance.choice(_OPENINGS[language]) + chance.choice(says[language])


def _noise(made: Style, chance: random.Random) -> str:
    language = chance.choice(LANGUAGES)
    words = {name: chance.choice(some) for name, some in made.words[language].items()}
    text = chance.choice(made.noise[language]).format(n=chance.randint(2, 60), m=chance.randint(60, 90), **words)
    return text[0].upper() + text[1:]


def _row(topic: str | None, against: bool, agent: str, content: str, number: int, chance: random.Random) -> Planted:
    day = chance.randrange(DAYS)
    session = chance.randrange(SESSIONS_A_DAY)
    confidence = None if chance.random() < 0.1 else round(chance.uniform(0.6, 1.0), 2)
    row = DigestRow(
        log_id=UUID(int=chance.getrandbits(128), version=4),
        content=content,
        agent_id=agent,
        session_id=f"day-{day:02}-session-{session}",
        node_id=f"node-{number % 7}",
        node_type="agent",
        occurred_at=START + timedelta(days=day, hours=2 * session, seconds=chance.randrange(6000)),
        confidence=confidence,
        flags=(Flag.CONFLICT,) if chance.random() < (_MARKED if against else _MARKED / 10) else (),
        admission=Admission.REFUSED if confidence is not None and confidence < 0.8 else Admission.ADMITTED,
    )
    return Planted(row=row, topic=topic, against=against)


def read(style: str) -> Style:
    told = tomllib.loads((DATA / f"month_{style}.toml").read_text(encoding="utf-8"))
    topics = _framed(told) if "frames" in told else [_topic(one) for one in told["topics"]]
    noise = told["noise"]
    return Style(
        topics=topics,
        flood=told["flood"],
        noise={language: noise[language] for language in LANGUAGES},
        words={language: noise[f"{language}_words"] for language in LANGUAGES},
    )


def _topic(told: Mapping[str, object]) -> Topic:
    says = {language: _texts(told[language]) for language in LANGUAGES}
    against = {language: _texts(told[f"against_{language}"]) for language in LANGUAGES if f"against_{language}" in told}
    return Topic(name=str(told["name"]), says=says, against=against, kind=str(told.get("kind", "")))


def _framed(told: Mapping[str, object]) -> list[Topic]:
    """Each fact in every frame."""
    frames, facts = told["frames"], told["facts"]
    assert isinstance(frames, dict)
    assert isinstance(facts, list)
    return [_in_frames(fact, frames) for fact in facts]


def _in_frames(fact: Mapping[str, Mapping[str, str]], frames: Mapping[str, Sequence[str]]) -> Topic:
    def filled(language: str, value: str) -> list[str]:
        words = dict(fact[language])
        words["value"] = words.pop(value)
        return [frame.format(**words) for frame in frames[language]]

    opposed = "other" in fact["en"]
    return Topic(
        name=str(fact["en"]["subject"]),
        says={language: filled(language, "value") for language in LANGUAGES},
        against={language: filled(language, "other") for language in LANGUAGES} if opposed else {},
        kind=str(fact.get("kind", "")),
    )


def _texts(told: object) -> Sequence[str]:
    assert isinstance(told, list)
    return [str(one) for one in told]
