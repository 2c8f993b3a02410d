"""The plan of a forget: everything in a group that holds what is to be forgotten, or rests on it."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from clearwell.flow.tombstones.hashing import ValueHasher
from clearwell.offload import offload
from clearwell.ports import ErasureStore
from clearwell.records import STATEMENT_KINDS, UNASSIGNED, ErasableOutput, ErasableText, ErasurePlan, ForgetSelector
from clearwell.text.normalisation import (
    find_metadata_values,
    find_spellings,
    find_values,
    find_whole_values,
    list_metadata_texts,
    normalise,
)
from clearwell.text.segments import segment

SHORTEST_PART: Final = 8
"""A statement of fewer characters, once normalised, stands for nothing by itself: 'agreed' is said by everyone."""


@dataclass(slots=True)
class ErasureFindings:
    """Everything that an erasure has found so far."""

    until: UUID
    """What came later is removed, but not followed."""
    outputs: set[UUID] = field(default_factory=set)
    later: set[UUID] = field(default_factory=set)
    insights: set[UUID] = field(default_factory=set)
    promotions: set[UUID] = field(default_factory=set)
    memories: set[UUID] = field(default_factory=set)
    decisions: set[UUID] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    sources: set[UUID] = field(default_factory=set)
    """What a memory that is forgotten was made from."""
    all_outputs: set[UUID] = field(default_factory=set)
    assigned_from: dict[UUID, UUID] = field(default_factory=dict)
    """The outputs of the reserved group that outputs were assigned from."""

    @property
    def ids(self) -> set[UUID]:
        return self.outputs | self.later | self.insights | self.promotions | self.memories


class ErasurePlanner:
    """Finds what a forget touches. It reads every text of the group, because copies have no link to the original."""

    def __init__(self, erasure: ErasureStore, hasher: ValueHasher) -> None:
        self._erasure = erasure
        self._hasher = hasher

    async def plan(
        self, group_id: str, selector: ForgetSelector, *, until: UUID, groups: Set[str] | None
    ) -> ErasurePlan:
        """Find everything that holds what the selector names.

        Outputs with later ids than ``until`` are found as well, but what they say is not followed: who sends them
        could otherwise have other outputs erased that nobody saw in the preview. ``groups`` are those whose rows may
        be listed if they were assigned from the same outputs; None is all.
        """
        found = ErasureFindings(until=until)
        insights = await self._erasure.insights(group_id)
        promotions = await self._erasure.promotions(group_id)
        subject = None if selector.subject is None else normalise(selector.subject)
        self._seed_memories(selector, subject, insights, promotions, found)
        async for page in self._erasure.outputs(group_id):
            await offload(_size(page), _seed_outputs, page, selector, subject, found)
        values = -1
        while values != len(found.values):
            values = len(found.values)
            async for page in self._erasure.outputs(group_id):
                await offload(_size(page), _find_copies, page, found)
            await self._find_later(group_id, selector, subject, found)
            self._follow(insights, promotions, found, subject=subject, everything=selector.everything)
            if selector.memory_id is None:
                await self._add_promoted(group_id, subject, insights, promotions, found)
        decisions = await self._erasure.decisions(group_id)
        found.decisions = {one.id for one in decisions if selector.everything or _touches(one, found, subject)}
        plan = await self._complete(group_id, selector, subject, insights, found)
        # Search once more at the end: outputs that arrived while the plan was made have been settled by now, and may
        # contain the text.
        await self._find_later(group_id, selector, subject, found)
        plan = replace(plan, later=_sorted(found.later))
        return await self._add_assigned(group_id, plan, found, groups)

    async def _add_assigned(
        self, group_id: str, plan: ErasurePlan, found: ErasureFindings, groups: Set[str] | None
    ) -> ErasurePlan:
        """Add the outputs that forgotten ones were assigned from, and list what else was assigned from them."""
        if group_id == UNASSIGNED:
            named, originals = list(plan.outputs), list[UUID]()
        else:
            removed = (*plan.outputs, *plan.later)
            named = [found.assigned_from[one] for one in removed if one in found.assigned_from]
            originals = list(await self._erasure.find_originals(named)) if named else []
        if not named:
            return plan
        copies = await self._erasure.find_assigned(named, among=groups)
        elsewhere = tuple(one for one in copies if one.group_id != group_id)
        return replace(plan, originals=_sorted(originals), assigned_elsewhere=elsewhere)

    async def _find_later(
        self, group_id: str, selector: ForgetSelector, subject: str | None, found: ErasureFindings
    ) -> None:
        async for page in self._erasure.outputs(group_id, after=found.until):
            await offload(_size(page), _add_later, page, selector, subject, found)

    def _seed_memories(
        self,
        selector: ForgetSelector,
        subject: str | None,
        insights: Sequence[ErasableText],
        promotions: Sequence[tuple[UUID, ErasableText]],
        found: ErasureFindings,
    ) -> None:
        """Find the memories that are named or contain the subject, and with a memory what it was made from."""
        sources = {one.id: one.refers_to for one in insights}
        for memory_id, promotion in promotions:
            if memory_id == selector.memory_id:
                found.memories.add(memory_id)
                found.values.update(value for text in promotion.texts for value in _find_own_values(text, None))
                for origin in promotion.refers_to:
                    found.sources |= {origin, *sources.get(origin, ())}
            elif subject is not None and any(_contains(text, subject) for text in promotion.texts):
                found.memories.add(memory_id)
                found.values.update(value for text in promotion.texts for value in _find_own_values(text, subject))

    def _follow(
        self,
        insights: Sequence[ErasableText],
        promotions: Sequence[tuple[UUID, ErasableText]],
        found: ErasureFindings,
        *,
        subject: str | None,
        everything: bool,
    ) -> None:
        """Follow outputs to insights, promotions and memories, until nothing more is found."""
        before = -1
        while before != len(found.ids):
            before = len(found.ids)
            found.insights |= {one.id for one in insights if everything or _touches(one, found, subject)}
            for memory_id, promotion in promotions:
                if everything or memory_id in found.memories or _touches(promotion, found, None):
                    found.memories.add(memory_id)
                    found.promotions.add(promotion.id)

    async def _add_promoted(
        self,
        group_id: str,
        subject: str | None,
        insights: Sequence[ErasableText],
        promotions: Sequence[tuple[UUID, ErasableText]],
        found: ErasureFindings,
    ) -> None:
        """Add the values of what was promoted and is forgotten, also as a person edited it.

        What a source that stays says by itself is left out: it is not only the statement of what is forgotten.
        """
        sources = {one.id: one.refers_to for one in insights}
        values: dict[str, set[UUID]] = {}
        for _, promotion in promotions:
            if promotion.id in found.promotions:
                origins = {log_id for one in promotion.refers_to for log_id in (one, *sources.get(one, ()))}
                content, *_ = promotion.texts
                for value in _find_own_values(content, subject):
                    values.setdefault(value, set()).update((origins & found.all_outputs) - found.outputs - found.later)
        if any(values.values()):
            async for page in self._erasure.outputs(group_id):
                await offload(_size(page), _drop_said, page, values)
        found.values |= values.keys()

    async def _complete(
        self,
        group_id: str,
        selector: ForgetSelector,
        subject: str | None,
        insights: Sequence[ErasableText],
        found: ErasureFindings,
    ) -> ErasurePlan:
        hashes = {value: await self._hasher.hash_value(group_id, value) for value in sorted(found.values)}
        verdicts = await self._erasure.quoting_verdicts(group_id)
        rejected = await self._erasure.tombstones(group_id)
        prompt, personas = await self._erasure.profiles(group_id)
        replaced = {
            tombstone_id
            for value_hash, (tombstone_id, reason) in rejected.items()
            if value_hash in hashes.values() or selector.everything or _mentions(reason, found, subject)
        }
        agents = {
            name
            for name, persona in personas.items()
            if selector.everything or name == selector.agent_id or _mentions(persona, found, subject)
        }
        sources = {log_id for one in insights if one.id in found.insights for log_id in one.refers_to}
        return ErasurePlan(
            outputs=_sorted(found.outputs),
            insights=_sorted(found.insights),
            promotions=_sorted(found.promotions),
            memories=_sorted(found.memories),
            decisions=_sorted(found.decisions),
            quoting_insights=_sorted(
                one.id
                for one in insights
                if one.id not in found.insights and (one.quotes & found.ids or _mentions(one.quoted, found, subject))
            ),
            verdicts_of=_sorted(
                one.id
                for one in verdicts
                if one.id not in found.outputs | found.later
                and (
                    one.refers_to & (found.ids | replaced) or any(_mentions(text, found, subject) for text in one.texts)
                )
            ),
            tombstones=_sorted(replaced),
            agents=tuple(sorted(agents)),
            profile=bool(prompt) and (selector.everything or _mentions(prompt, found, subject)),
            released=_sorted((sources & found.all_outputs) - found.outputs - found.later),
            until=found.until,
            value_hashes=tuple(hashes.values()),
        )


def _size(page: Sequence[ErasableOutput]) -> int:
    return sum(len(output.content) for output in page)


def _seed_outputs(
    page: Sequence[ErasableOutput], selector: ForgetSelector, subject: str | None, found: ErasureFindings
) -> None:
    for output in page:
        found.all_outputs.add(output.id)
        if output.assigned_from is not None:
            found.assigned_from[output.id] = output.assigned_from
        if output.id <= found.until and _is_named(output, selector, subject, found):
            found.outputs.add(output.id)
            # The sources of a memory are removed, but only the text of the memory itself must not come back.
            if selector.memory_id is None:
                found.values.update(_find_own_values(output.content, subject))


def _is_named(output: ErasableOutput, selector: ForgetSelector, subject: str | None, found: ErasureFindings) -> bool:
    return (
        selector.everything
        or output.id == selector.log_id
        or output.id in found.sources
        or (selector.session_id is not None and output.session_id == selector.session_id)
        or (selector.agent_id is not None and output.agent_id == selector.agent_id)
        or (subject is not None and (_contains(output.content, subject) or _contains(output.extra, subject)))
    )


def _add_later(
    page: Sequence[ErasableOutput], selector: ForgetSelector, subject: str | None, found: ErasureFindings
) -> None:
    """Add the outputs that came later and are named by the selector, or say one of the values."""
    for output in page:
        if output.assigned_from is not None:
            found.assigned_from[output.id] = output.assigned_from
        if output.id not in found.later and (
            _is_named(output, selector, subject, found) or not found.values.isdisjoint(_find_said(output))
        ):
            found.later.add(output.id)


def _find_copies(page: Sequence[ErasableOutput], found: ErasureFindings) -> None:
    """Add the outputs that say one of the values in other places."""
    for output in page:
        known = output.id in found.outputs or output.id > found.until
        if not known and not found.values.isdisjoint(_find_said(output)):
            found.outputs.add(output.id)


def _drop_said(page: Sequence[ErasableOutput], values: dict[str, set[UUID]]) -> None:
    """Drop the values that one of their outputs says."""
    for output in page:
        named = [value for value, origins in values.items() if output.id in origins]
        said = frozenset(_find_said(output)) if named else frozenset()
        for value in said.intersection(named):
            del values[value]


def _find_said(output: ErasableOutput) -> list[str]:
    """What an output says, in its text and in its metadata."""
    return [*find_values(output.content), *find_metadata_values(list_metadata_texts(output.metadata))]


def _find_own_values(content: str, subject: str | None) -> list[str]:
    """The values of a text: the whole; with a subject, also the claims and decisions that contain it.

    A sentence of an output is no value by itself: others may have said it, and more, without anything to forget.
    """
    values = list(find_whole_values(content))
    if subject is not None:
        parts = [content[one.start : one.end] for one in segment(content) if one.kind in STATEMENT_KINDS]
        said = [value for part in parts for value in find_whole_values(part) if len(value) >= SHORTEST_PART]
        values += [value for value in said if subject in value]
    return list(dict.fromkeys(values))


def _touches(one: ErasableText, found: ErasureFindings, subject: str | None) -> bool:
    return not one.refers_to.isdisjoint(found.ids) or any(_mentions(text, found, subject) for text in one.texts)


def _mentions(text: str, found: ErasureFindings, subject: str | None) -> bool:
    if not text:
        return False
    return any(
        (subject is not None and subject in plain)
        or any(value in plain for value in found.values if len(value) >= SHORTEST_PART)
        for plain in find_spellings(text)
    )


def _contains(text: str, subject: str) -> bool:
    return any(subject in plain for plain in find_spellings(text))


def _sorted(ids: Iterable[UUID]) -> tuple[UUID, ...]:
    return tuple(sorted(ids))
