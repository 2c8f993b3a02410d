"""Compose insights from drafts. A language model writes the headline; without one, the best source is quoted."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from uuid import UUID

from clearwell.errors import ClearwellError, EmbedderUnavailable, WriterUnavailable
from clearwell.flow.digest.drafting import Draft, DraftSide, count_support, speaker
from clearwell.flow.digest.inventions import find_invented
from clearwell.flow.digest.material import MaterialReader
from clearwell.flow.digest.progress import Progress
from clearwell.ports import DigestAttempt, Embedder, Ids, InsightWriter
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
    WrittenInsight,
)
from clearwell.text.flags import find_flags
from clearwell.text.hidden_text import escape_hidden
from clearwell.vocabulary import Flag

AT_ONCE = 2
SHOWN = 20
"""Maximum number of sources that the writer receives."""
AROUND = 300
"""Number of characters before and after a statement that the writer receives with it."""
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
"""Errors that concern one draft only. After any other, the model is not asked again."""
CLOSED = "。！？；…”』」"


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The insights of a digest, and why some of them are quoted although there is a writer."""

    insights: Sequence[Insight]
    problem: WriterUnavailable | None = None
    quoted: int = 0
    dropped: int = 0


class InsightComposer:
    """Composes insights: headline, vector, flags and notes."""

    def __init__(self, writer: InsightWriter | None, reading: MaterialReader, embedder: Embedder, ids: Ids) -> None:
        self._writer = writer
        self._reading = reading
        self._embedder = embedder
        self._ids = ids

    async def write(
        self, attempt: DigestAttempt, drafts: Sequence[Draft], progress: Progress, *, at: datetime
    ) -> Texts:
        """Return one insight for each draft, in the same order."""
        answers = await self._ask_writer(attempt.group_id, drafts, progress)
        made = [self._make_insight(attempt, one, answer, at) for one, answer in zip(drafts, answers, strict=True)]
        vectors = await self._embed(made, drafts)
        model = self._embedder.model
        problems = [one for one in answers if isinstance(one, WriterUnavailable)]
        return Texts(
            insights=[
                replace(one, embedding=vector, embedding_model=model) for one, vector in zip(made, vectors, strict=True)
            ],
            problem=problems[0] if problems else None,
            quoted=len(problems),
            dropped=sum(one.dropped for one in answers if isinstance(one, WrittenInsight)),
        )

    async def _ask_writer(
        self, group_id: str, drafts: Sequence[Draft], progress: Progress
    ) -> list[WrittenInsight | WriterUnavailable | None]:
        """Return for each draft what the model wrote, or its error; None if there is no model.

        If the model is down, it is not asked for the remaining drafts.
        """
        answers: list[WrittenInsight | WriterUnavailable | None] = []
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

    async def _ask(self, writer: InsightWriter, group_id: str, draft: Draft) -> WrittenInsight | WriterUnavailable:
        shown = draft.sources[:SHOWN]
        contents = await self._reading.read_contents(group_id, [one.log_id for one in shown])
        sources = [_make_writer_source(one, contents) for one in shown]
        try:
            written = await writer.write(sources)
        except WriterUnavailable as error:
            return error
        return await self._check(writer.model, group_id, written, sources)

    async def _check(
        self, model: str, group_id: str, written: WrittenInsight, sources: Sequence[WriterSource]
    ) -> WrittenInsight | WriterUnavailable:
        """Return what was written without the sentences that have a refused value.

        Returns an error if nothing is left, or if the text has a value or a name that no source has.
        """
        refused = await self._reading.find_refused(group_id, [one.text for one in written.sentences])
        sentences = tuple(one for one, no in zip(written.sentences, refused, strict=True) if not no)
        if not sentences:
            return WriterUnavailable("writer_refused_value", model=model)
        seen = [f"{source.statement}\n{source.passage}" for source in sources]
        invented = find_invented(join_sentences(sentences), seen)
        if invented:
            return WriterUnavailable("writer_invented", model=model, values=escape_hidden(", ".join(invented)))
        return replace(written, sentences=sentences, dropped=written.dropped + sum(refused))

    def _make_insight(
        self, attempt: DigestAttempt, draft: Draft, answer: WrittenInsight | WriterUnavailable | None, at: datetime
    ) -> Insight:
        written = answer if isinstance(answer, WrittenInsight) else None
        draft = draft if written is None else _add_sides(draft, written)
        sentences = _make_sentences(draft, written)
        summary = join_sentences(sentences)
        return Insight(
            id=self._ids.new(),
            group_id=attempt.group_id,
            digest_id=attempt.digest_id,
            version=1,
            state=InsightState.PENDING,
            summary=summary,
            written_by=Writer.EXTRACTIVE if written is None else Writer.MODEL,
            sources=tuple(_make_source(one, draft) for one in draft.sources),
            contradictions=_collect_contradictions(draft, written),
            flags=_collect_flags(draft, written, summary),
            support=draft.support,
            score=draft.score,
            created_at=at,
            changed_at=at,
            sentences=sentences,
            notes=_make_notes(draft, answer),
            sides=tuple(
                InsightSide(
                    statement=escape_hidden(side.best.headline).strip(),
                    log_ids=tuple(one.log_id for one in side.statements),
                    support=side.support,
                )
                for side in draft.sides
            ),
        )

    async def _embed(self, made: Sequence[Insight], drafts: Sequence[Draft]) -> Sequence[Vector]:
        """Embed the summaries. If the model does not respond, use the mean vectors of the drafts."""
        try:
            return await self._embedder.embed([one.summary for one in made]) if made else []
        except EmbedderUnavailable:
            return [one.embedding for one in drafts]


def join_sentences(sentences: Sequence[Sentence]) -> str:
    """Return the sentences as one text, without spaces after Chinese sentences."""
    text = ""
    for sentence in sentences:
        said = escape_hidden(sentence.text).strip()
        text += ("" if not text or text[-1] in CLOSED else " ") + said
    return text


def _add_sides(draft: Draft, written: WrittenInsight) -> Draft:
    """Return the draft with the sides that only the model found.

    There are none if the same speakers are on both sides: one that changed its mind does not contradict another.
    """
    if draft.sides:
        return draft
    sides = [tuple(source for source in draft.sources if source.log_id in side) for side in written.sides]
    speakers = [{speaker(source) for source in side if not source.repeats} for side in sides]
    if not any(one - other and other - one for one, other in combinations(speakers, 2)):
        return draft
    return replace(draft, sides=tuple(_make_side(side) for side in sides if side))


def _make_side(statements: tuple[DigestCandidate, ...]) -> DraftSide:
    best = next((one for one in statements if not one.repeats), statements[0])
    return DraftSide(best=best, statements=statements, support=count_support(statements))


def _make_writer_source(one: DigestCandidate, contents: Mapping[UUID, str]) -> WriterSource:
    content = contents.get(one.log_id, "")
    start, end = one.span
    return WriterSource(
        log_id=one.log_id, statement=one.headline, passage=content[max(0, start - AROUND) : end + AROUND].strip()
    )


def _make_sentences(draft: Draft, written: WrittenInsight | None) -> tuple[Sentence, ...]:
    if written is None:
        return (Sentence(text=escape_hidden(draft.summary).strip(), sources=(draft.best.log_id,)),)
    return tuple(replace(one, text=escape_hidden(one.text).strip()) for one in written.sentences)


def _make_source(one: DigestCandidate, draft: Draft) -> InsightSource:
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


def _collect_contradictions(draft: Draft, written: WrittenInsight | None) -> tuple[Contradiction, ...]:
    """Return the measured contradictions, and those that only the model found."""
    found: dict[frozenset[UUID], Contradiction] = {}
    for one in (*draft.contradictions, *(() if written is None else written.contradictions)):
        found.setdefault(frozenset({one.of, one.against}), one)
    return tuple(found.values())


def _collect_flags(draft: Draft, written: WrittenInsight | None, summary: str) -> tuple[str, ...]:
    """Return the flags of the draft and of the model's text, and the flag of a contradiction that only the model found.

    The flag that sources were not judged is dropped: without a judge, every insight would have it.
    """
    found = [] if written is None else find_flags(summary, {})
    seen = [Flag.CONTRADICTION] if written is not None and written.contradictions else []
    return tuple(
        flag for flag in dict.fromkeys([*seen, *draft.flags, *found]) if flag != Flag.SELF_CONSISTENCY_NOT_CHECKED
    )


def _make_notes(draft: Draft, answer: WrittenInsight | WriterUnavailable | None) -> tuple[Note, ...]:
    notes: list[Note] = []
    if draft.near_rejected is not None:
        near = draft.near_rejected
        params: dict[str, Json] = {"at": near.at.date().isoformat(), "why": near.reason}
        notes.append(Note(code="insight_near_rejected", params=params))
    if draft.replaces is not None:
        notes.append(Note(code="insight_replaces"))
    if isinstance(answer, WriterUnavailable):
        notes.append(Note(code="insight_quoted_instead", params=problem_params(answer)))
    return tuple(notes)


def problem_params(error: ClearwellError) -> dict[str, Json]:
    """Return the code and the parameters of an error, for a stored note. So it can be shown in either language."""
    return {"problem_code": error.code, "problem_params": {name: str(of) for name, of in error.params.items()}}
