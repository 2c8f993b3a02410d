"""The headlines of insights: by a language model where there is one, else the statement of the best source."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from clearwell.errors import ClearwellError, EmbedderUnavailable, WriterUnavailable
from clearwell.flow.digest.drafting import Draft
from clearwell.flow.digest.drafting.drafts import CONTRADICTION
from clearwell.flow.digest.inventions import find_invented
from clearwell.flow.digest.material import MaterialReader
from clearwell.flow.digest.progress import Progress
from clearwell.ports import Embedder, Ids, InsightWriter, Run
from clearwell.records import (
    Contradiction,
    DigestCandidate,
    Insight,
    InsightSide,
    InsightSource,
    InsightState,
    Json,
    Note,
    Sentence,
    Vector,
    Writer,
    WriterSource,
    Written,
)
from clearwell.text.flags import flags_of
from clearwell.text.hidden_text import escaped

AT_ONCE = 2
SHOWN = 20
"""Sources that a writer is shown."""
AROUND = 300
"""Characters of a passage before and behind a statement."""
ABOUT_ONE = frozenset(
    {
        "writer_nonsense",
        "writer_uncited",
        "writer_too_long",
        "writer_declined",
        "writer_refused_value",
        "writer_invented",
    }
)
"""Failures that say nothing about the next question."""
NOT_JUDGED = "self_consistency_not_checked"
CLOSED = "。！？；…”』」"


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The insights of a digest, and why some of them are quoted though there is a writer."""

    insights: Sequence[Insight]
    problem: WriterUnavailable | None = None
    quoted: int = 0
    dropped: int = 0


class InsightComposer:
    def __init__(self, writer: InsightWriter | None, reading: MaterialReader, embedder: Embedder, ids: Ids) -> None:
        self._writer = writer
        self._reading = reading
        self._embedder = embedder
        self._ids = ids

    async def write(self, run: Run, drafts: Sequence[Draft], progress: Progress, *, at: datetime) -> Texts:
        """One insight a draft, in their order."""
        answers = await self._answers(run.group_id, drafts, progress)
        made = [self._insight(run, one, answer, at) for one, answer in zip(drafts, answers, strict=True)]
        vectors = await self._vectors(made, drafts)
        model = self._embedder.model
        problems = [one for one in answers if isinstance(one, WriterUnavailable)]
        return Texts(
            insights=[
                replace(one, embedding=vector, embedding_model=model) for one, vector in zip(made, vectors, strict=True)
            ],
            problem=problems[0] if problems else None,
            quoted=len(problems),
            dropped=sum(one.dropped for one in answers if isinstance(one, Written)),
        )

    async def _answers(
        self, group_id: str, drafts: Sequence[Draft], progress: Progress
    ) -> list[Written | WriterUnavailable | None]:
        """What the model wrote, or why it did not; None where there is no model. One that is down is not asked on."""
        answers: list[Written | WriterUnavailable | None] = []
        down: WriterUnavailable | None = None
        for start in range(0, len(drafts), AT_ONCE):
            await progress.report("digest_stage_writing", start, len(drafts))
            batch = drafts[start : start + AT_ONCE]
            if self._writer is None or down is not None:
                answers += [down] * len(batch)
                continue
            writer = self._writer
            answers += await asyncio.gather(*(self._ask(writer, group_id, one) for one in batch))
            failed = [one for one in answers[start:] if isinstance(one, WriterUnavailable)]
            down = next((one for one in failed if one.code not in ABOUT_ONE), None)
        return answers

    async def _ask(self, writer: InsightWriter, group_id: str, draft: Draft) -> Written | WriterUnavailable:
        shown = draft.sources[:SHOWN]
        contents = await self._reading.read_contents(group_id, [one.log_id for one in shown])
        sources = [_make_writer_source(one, contents) for one in shown]
        try:
            written = await writer.write(sources)
        except WriterUnavailable as error:
            return error
        return await self._check(writer.model, group_id, written, sources)

    async def _check(
        self, model: str, group_id: str, written: Written, sources: Sequence[WriterSource]
    ) -> Written | WriterUnavailable:
        """What was written, without refused values, or why it cannot be used: it has a value that no source has."""
        refused = await self._reading.refused(group_id, [one.text for one in written.sentences])
        sentences = tuple(one for one, no in zip(written.sentences, refused, strict=True) if not no)
        if not sentences:
            return WriterUnavailable("writer_refused_value", model=model)
        seen = [f"{source.statement}\n{source.passage}" for source in sources]
        invented = find_invented(joined(sentences), seen)
        if invented:
            return WriterUnavailable("writer_invented", model=model, values=escaped(", ".join(invented)))
        return replace(written, sentences=sentences, dropped=written.dropped + sum(refused))

    def _insight(self, run: Run, draft: Draft, answer: Written | WriterUnavailable | None, at: datetime) -> Insight:
        written = answer if isinstance(answer, Written) else None
        sentences = _sentences(draft, written)
        summary = joined(sentences)
        return Insight(
            id=self._ids.new(),
            group_id=run.group_id,
            digest_id=run.digest_id,
            version=1,
            state=InsightState.PENDING,
            summary=summary,
            written_by=Writer.EXTRACTIVE if written is None else Writer.MODEL,
            sources=tuple(_source(one, draft) for one in draft.sources),
            contradictions=_contradictions(draft, written),
            flags=_flags(draft, written, summary),
            support=draft.support,
            score=draft.score,
            created_at=at,
            changed_at=at,
            sentences=sentences,
            notes=_notes(draft, answer),
            sides=tuple(
                InsightSide(
                    statement=escaped(side.best.headline).strip(),
                    log_ids=tuple(one.log_id for one in side.statements),
                    support=side.support,
                )
                for side in draft.sides
            ),
        )

    async def _vectors(self, made: Sequence[Insight], drafts: Sequence[Draft]) -> Sequence[Vector]:
        """Of the words where that can be; the middle of the sources is nearly the same."""
        try:
            return await self._embedder.embed([one.summary for one in made]) if made else []
        except EmbedderUnavailable:
            return [one.embedding for one in drafts]


def joined(sentences: Sequence[Sentence]) -> str:
    """The sentences as one text: after Chinese ones there is no space."""
    text = ""
    for sentence in sentences:
        said = escaped(sentence.text).strip()
        text += ("" if not text or text[-1] in CLOSED else " ") + said
    return text


def _make_writer_source(one: DigestCandidate, contents: Mapping[UUID, str]) -> WriterSource:
    content = contents.get(one.log_id, "")
    start, end = one.span
    return WriterSource(
        log_id=one.log_id, statement=one.headline, passage=content[max(0, start - AROUND) : end + AROUND].strip()
    )


def _sentences(draft: Draft, written: Written | None) -> tuple[Sentence, ...]:
    if written is None:
        return (Sentence(text=escaped(draft.summary).strip(), sources=(draft.best.log_id,)),)
    return tuple(replace(one, text=escaped(one.text).strip()) for one in written.sentences)


def _source(one: DigestCandidate, draft: Draft) -> InsightSource:
    return InsightSource(
        log_id=one.log_id,
        agent_id=one.agent_id,
        session_id=one.session_id,
        node_id=one.node_id,
        node_type=one.node_type,
        occurred_at=one.occurred_at,
        confidence=one.confidence,
        admission=one.admission,
        content=one.statement,
        flags=one.flags,
        statement=one.statement,
        number=one.number,
        span=one.span,
        side=draft.find_side(one),
        captured_by=one.captured_by,
    )


def _contradictions(draft: Draft, written: Written | None) -> tuple[Contradiction, ...]:
    """Those that were measured, and those that only the model saw."""
    found: dict[frozenset[UUID], Contradiction] = {}
    for one in (*draft.contradictions, *(() if written is None else written.contradictions)):
        found.setdefault(frozenset({one.of, one.against}), one)
    return tuple(found.values())


def _flags(draft: Draft, written: Written | None, summary: str) -> tuple[str, ...]:
    """The draft's, those of a model's words, and a contradiction that only the model saw.

    That nobody judged its sources says nothing of an insight: it is so of every one where there is no judge.
    """
    found = [] if written is None else flags_of(summary, {})
    seen = [CONTRADICTION] if written is not None and written.contradictions else []
    return tuple(flag for flag in dict.fromkeys([*seen, *draft.flags, *found]) if flag != NOT_JUDGED)


def _notes(draft: Draft, answer: Written | WriterUnavailable | None) -> tuple[Note, ...]:
    notes: list[Note] = []
    if draft.near_rejected is not None:
        near = draft.near_rejected
        params: dict[str, Json] = {"at": near.at.date().isoformat(), "why": near.reason}
        notes.append(Note(code="insight_near_rejected", params=params))
    if isinstance(answer, WriterUnavailable):
        notes.append(Note(code="insight_quoted_instead", params=problem_params(answer)))
    return tuple(notes)


def problem_params(error: ClearwellError) -> dict[str, Json]:
    """An error within a stored sentence: by its code, so that it can be said in either language."""
    return {"problem_code": error.code, "problem_params": {name: str(of) for name, of in error.params.items()}}
