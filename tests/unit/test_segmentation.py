"""The statements of outputs: made at admission, kept in working memory, and made again by the worker."""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import pytest

from clearwell.errors import EmbedderUnavailable
from clearwell.flow.ingress.echo import OwnText, blank_fences, remove_fences
from clearwell.flow.ingress.segmentation import (
    MAX_VECTORS,
    mark_quotations,
    place_statements,
    read_statements,
    segment_output,
)
from clearwell.ports import SegmentedOutput
from clearwell.records import Admission, NewCapture, Outcome, SegmentKind, Statement, Vector
from clearwell.settings import NodePolicy, Settings
from clearwell.testing import WordEmbedder
from clearwell.text.segments import SEGMENTER_VERSION
from tests.path import AGENT, LONG, OTHER, Path, said

REPORT = f"""## Findings

- {LONG}
- {OTHER}

Thanks for reading!
"""
MEMORY = UUID(int=9)


def fenced(text: str) -> str:
    return f'1. [✅ Verified · 2026-10-02] <memory id="{MEMORY}">{text}</memory>'


async def stored(path: Path, log_id: UUID) -> Sequence[Statement]:
    return (await path.statements.read("g", [log_id]))[log_id]


def texts(content: str, statements: Sequence[Statement], *, embedded: bool = True) -> list[str]:
    found = [one for one in statements if (one.embedding is not None) is embedded]
    return [content[one.segment.start : one.segment.end] for one in found]


async def test_an_admitted_output_has_its_statements_with_vectors() -> None:
    path = Path()
    receipt = await path.memory.acting_as(AGENT).capture(said(REPORT), wait=True)
    assert receipt.admission is Admission.ADMITTED
    statements = await stored(path, receipt.id)
    assert texts(REPORT, statements) == [LONG, OTHER]
    assert [one.number for one in statements] == list(range(len(statements)))
    assert {one.segment.headings for one in statements if one.embedding is not None} == {("Findings",)}
    (entry,) = await path.memory.acting_as(AGENT).working_memory(group="g")
    assert [entry.content[one.start : one.end] for one in entry.statements] == [LONG, OTHER]
    assert await path.statement_updater.update_outdated() == 0


@pytest.mark.parametrize(("count", "whole"), [(2, True), (3, True), (4, False)])
async def test_a_short_entry_has_the_vector_of_its_whole_text_also_when_rebuilt(count: int, whole: bool) -> None:
    path = Path()
    facts = (
        LONG,
        OTHER,
        "Invoices above ten thousand euros need two approvals.",
        "The pool now has forty connections.",
    )
    content = f"Hello everybody! {' '.join(facts[:count])}"
    await path.memory.acting_as(AGENT).capture(said(content), wait=True)
    await path.program.rebuilder.rebuild_group("g")
    (entry,) = await path.memory.acting_as(AGENT).working_memory(group="g")
    assert len(entry.statements) == count
    (vector,) = await path.embedder.embed([content])
    assert entry.embedding is not None
    assert np.allclose(entry.embedding, vector, atol=0.01) is whole


async def test_a_refused_output_gets_vectors_from_the_worker() -> None:
    path = Path()
    refused = (await path.memory.acting_as(AGENT).capture(said(REPORT, confidence=0.1), wait=True)).id
    assert texts(REPORT, await stored(path, refused)) == []
    assert await path.statement_updater.update_outdated() == 1
    assert texts(REPORT, await stored(path, refused)) == [LONG, OTHER]
    assert await path.statement_updater.update_outdated() == 0


async def test_statements_of_an_older_segmenter_and_another_model_are_made_anew() -> None:
    path = Path()
    log_id = (await path.memory.acting_as(AGENT).capture(said(REPORT), wait=True)).id
    made = await stored(path, log_id)
    for version, model in ((SEGMENTER_VERSION - 1, "words"), (SEGMENTER_VERSION, "another model")):
        await path.statements.put("g", [SegmentedOutput(log_id=log_id, version=version, model=model, statements=())])
        assert await path.statement_updater.update_outdated() == 1
        assert await stored(path, log_id) == list(made)


async def test_an_output_that_nothing_considers_needs_no_vectors() -> None:
    path = Path(settings=Settings(node_policies={"tool": NodePolicy(admit=False, digest=False)}))
    new = NewCapture(content=REPORT, group_id="g", node_type="tool")
    log_id = (await path.memory.acting_as(AGENT).capture(new, wait=True)).id
    assert await path.statement_updater.update_outdated() == 1
    assert texts(REPORT, await stored(path, log_id)) == []
    assert await path.statement_updater.update_outdated() == 0


class PickyEmbedder(WordEmbedder):
    """Refuses one text, or all of them."""

    refuses = "payment"

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if any(self.refuses in text for text in texts):
            raise EmbedderUnavailable("embedder_refused", model="words", status=400, reason="no")
        return await super().embed(texts)


async def test_an_output_that_the_embedder_refuses_does_not_hold_up_others() -> None:
    embedder = PickyEmbedder()
    path = Path(embedder=embedder)
    bad, good = [
        (await path.memory.acting_as(AGENT).capture(said(text, confidence=0.1), wait=True)).id for text in (LONG, OTHER)
    ]
    embedder.refuses = ""
    with pytest.raises(EmbedderUnavailable):
        await path.statement_updater.update_outdated()
    embedder.refuses = "payment"
    assert await path.statement_updater.update_outdated() == 2
    assert texts(LONG, await stored(path, bad)) == []
    assert texts(OTHER, await stored(path, good)) == [OTHER]
    assert await path.statement_updater.update_outdated() == 0


async def test_a_rebuilt_entry_has_its_statements() -> None:
    path = Path()
    memory = await path.memory.promote(OTHER, group="g")
    quoting = f'{LONG}\n\n<memory id="{memory.id}">{OTHER}</memory>\n\nThe old cluster is switched off in December.'
    await path.memory.acting_as(AGENT).capture(said(quoting), wait=True)
    (before,) = await path.memory.acting_as(AGENT).working_memory(group="g")
    await path.memory.rebuild_working_memory(group="g")
    (after,) = await path.memory.acting_as(AGENT).working_memory(group="g")
    assert after.statements == before.statements
    assert [after.content[one.start : one.end] for one in after.statements] == [
        LONG,
        "The old cluster is switched off in December.",
    ]


def test_a_quotation_between_fences_is_no_statement() -> None:
    content = f"## History\n\n{fenced(OTHER)}\n\n{LONG}"
    segments = segment_output(content)
    assert [content[one.start : one.end] for one in segments if one.is_statement] == [OTHER, LONG]
    quoted = mark_quotations(segments, remove_fences(content, {MEMORY: OTHER}))
    assert [content[one.start : one.end] for one in quoted if one.is_statement] == [LONG]
    made_up = mark_quotations(segments, remove_fences(content, {MEMORY: LONG}))
    assert [content[one.start : one.end] for one in made_up if one.is_statement] == [OTHER, LONG]


@pytest.mark.parametrize("text", [LONG, REPORT, "a < b", f"{fenced(OTHER)}\n{fenced(LONG)} 之后", fenced(OTHER)[:-9]])
def test_blanked_fences_leave_every_character_in_its_place(text: str) -> None:
    blank = blank_fences(text)
    assert len(blank) == len(text)
    assert all(new in (old, "\n") for new, old in zip(blank, text, strict=True))
    assert "<memory" not in blank


def test_only_so_many_statements_get_vectors() -> None:
    content = "\n".join(f"- Shelf {number} of the archive holds {number} boxes of paper." for number in range(100))
    segments = segment_output(content)
    assert sum(one.is_statement for one in segments) == 100
    assert len(read_statements(content, segments)) == MAX_VECTORS


def test_hidden_characters_do_not_change_what_is_embedded() -> None:
    content = LONG.replace("payment", "pay\u200bment")
    assert list(read_statements(content, segment_output(content)).values()) == [LONG]


def test_a_statement_that_an_entry_does_not_show_is_left_out() -> None:
    vector = np.ones(4, dtype=np.float32)
    segments = segment_output(REPORT)
    statements = [
        Statement(log_id=MEMORY, number=number, segment=one, embedding=vector, embedding_model="words")
        for number, one in enumerate(segments)
        if one.kind is SegmentKind.CLAIM
    ]
    placed = place_statements(REPORT, f"[memory] {OTHER}", statements)
    assert [(one.start, one.end) for one in placed] == [(9, 9 + len(OTHER))]
    assert mark_quotations(segments, OwnText(REPORT)) == segments


async def test_a_very_long_output_that_is_said_again_is_a_duplicate() -> None:
    path = Path()
    says = "- Shelf {} of the archive holds {} boxes of letters from 19{}."
    lines = [says.format(number, number + 3, number) for number in range(10, 70)]
    first = "\n".join(lines)
    agent = path.memory.acting_as(AGENT)
    assert (await agent.capture(said(first), wait=True)).admission is Admission.ADMITTED
    again = await agent.capture(said(first.replace("- ", "* ")), wait=True)
    assert again.admission is Admission.REFUSED
    verdicts = (await path.memory.quarantine_row(again.id, group="g")).verdicts
    assert next(one.check for one in verdicts if one.outcome is Outcome.FAIL) == "non_duplicate"
    changed = "\n".join([*lines[:-1], "- Shelf 69 of the archive is empty since the move."])
    assert (await agent.capture(said(changed), wait=True)).admission is Admission.ADMITTED
