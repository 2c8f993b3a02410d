"""The labelled cases: data of this package, written for it, in English and Chinese."""

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from clearwell.messages import Language


class CaseKind(StrEnum):
    """The statements of a case for an embedding model."""

    TEXT = "text"
    PARAPHRASE = "paraphrase"
    CONFLICT = "conflict"
    NEAR = "near"


class OutputFault(StrEnum):
    """What is wrong with an output that a judge is asked about."""

    NONE = "none"
    CONTRADICTION = "contradiction"
    INVENTION = "invention"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderCase:
    """A statement, a paraphrase, a conflicting one, another fact on its subject, and a question that it answers."""

    id: str
    language: Language
    text: str
    paraphrase: str
    conflict: str
    near: str
    question: str

    def statement(self, kind: CaseKind) -> str:
        statements = {
            CaseKind.TEXT: self.text,
            CaseKind.PARAPHRASE: self.paraphrase,
            CaseKind.CONFLICT: self.conflict,
            CaseKind.NEAR: self.near,
        }
        return statements[kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCase:
    """An output, and what is wrong with it."""

    id: str
    language: Language
    text: str
    fault: OutputFault


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterCase:
    """Outputs on one matter, and what a text about them must and must not contain.

    Of each tuple of ``facts`` one wording must occur. ``disputed`` are values that exclude each other.
    """

    id: str
    language: Language
    sources: tuple[str, ...]
    facts: tuple[tuple[str, ...], ...]
    disputed: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


@cache
def load_embedder_cases() -> tuple[EmbedderCase, ...]:
    return tuple(EmbedderCase(**case) for case in _read("embedder_cases.toml"))


@cache
def load_judge_cases() -> tuple[JudgeCase, ...]:
    return tuple(JudgeCase(**{**case, "fault": OutputFault(case["fault"])}) for case in _read("judge_cases.toml"))


@cache
def load_writer_cases() -> tuple[WriterCase, ...]:
    return tuple(_make_writer_case(case) for case in _read("writer_cases.toml"))


def _make_writer_case(case: dict[str, Any]) -> WriterCase:
    facts = tuple((fact,) if isinstance(fact, str) else tuple(fact) for fact in case["facts"])
    lists = {name: tuple(case.get(name, ())) for name in ("sources", "disputed", "absent")}
    return WriterCase(id=case["id"], language=case["language"], facts=facts, **lists)


def _read(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))["case"]
    return cases
