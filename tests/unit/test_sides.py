"""An insight whose sources contradict each other is promoted by naming a side, by a text, or despite that."""

from dataclasses import replace
from uuid import UUID

import pytest

from clearwell.errors import Conflict, InvalidInput
from clearwell.flow.context.fencing import format_label
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import Action, InsightSide, InsightState, Support, Writer
from clearwell.settings import Settings
from tests.path import AGENT, Path, said
from tests.unit.test_review import decide, insight, offered, verified

MONDAY = "The data centre in Lyon is switched off on Monday the 4th of May, after the backup has finished."
FRIDAY = "The data centre in Lyon is switched off on Friday the 8th of May, after the backup has finished."


async def disputed(path: Path) -> UUID:
    """An insight of two agents that disagree about a date."""
    outputs = [replace(said(MONDAY), agent_id="ops"), replace(said(FRIDAY), agent_id="facilities")]
    one = await offered(path, f"{MONDAY} {FRIDAY}", *outputs)
    found = await insight(path, one)
    voice = Support(agents=1, sessions=1, days=1, rows=1)
    sides = tuple(
        InsightSide(statement=source.content, log_ids=(source.log_id,), support=voice) for source in found.sources
    )
    path.ledger.put(replace(found, sides=sides, flags=("contradiction",)))
    return one


async def test_an_insight_with_sides_is_not_promoted_as_it_is() -> None:
    path = Path()
    one = await disputed(path)
    with pytest.raises(Conflict) as refused:
        await decide(path, Action.PROMOTE, one)
    assert refused.value.code == "insight_has_sides"
    assert refused.value.current["sides"] == [
        {"side": 0, "statement": MONDAY, "agents": 1, "sources": 1},
        {"side": 1, "statement": FRIDAY, "agents": 1, "sources": 1},
    ]
    assert (verified(path), (await insight(path, one)).state) == ([], InsightState.PENDING)


async def test_a_side_that_is_named_becomes_the_memory_by_its_author() -> None:
    path = Path()
    one = await disputed(path)
    done = await decide(path, Action.PROMOTE, one, side=1)
    (memory,) = [chunk for chunk in path.longterm.chunks if chunk.valid_to is None]
    assert (done.status, memory.content, memory.author) == ("promoted", FRIDAY, "facilities")
    again = await decide(path, Action.PROMOTE, one, side=1)
    assert (again.already, again.id) == (True, done.id)
    with pytest.raises(Conflict, match="different text"):
        await decide(path, Action.PROMOTE, one, side=0)


async def test_a_text_of_the_person_is_a_choice_too() -> None:
    path = Path()
    text = "The data centre in Lyon is switched off in the first week of May; the day is not decided yet."
    await decide(path, Action.PROMOTE, await disputed(path), text=text)
    assert verified(path) == [text]


async def test_despite_the_contradiction_all_sides_become_a_memory_that_says_so() -> None:
    path = Path()
    one = await disputed(path)
    path.ledger.put(replace(await insight(path, one), summary=FRIDAY))
    done = await decide(path, Action.PROMOTE, one, despite=("contradiction",))
    assert verified(path) == [f"{MONDAY}\n{FRIDAY}"]
    options = RetrieveOptions(sources=["cold"])
    (item,) = (await path.memory.acting_as(AGENT).retrieve("Lyon switched off", group="g", options=options)).items
    assert item.flags == ("contradiction",)
    assert "contradictory sources" in format_label(item, "en")
    again = await decide(path, Action.PROMOTE, one, despite=("contradiction",))
    assert (again.already, again.id) == (True, done.id)


async def test_the_words_of_a_person_are_not_flagged_as_contradictory() -> None:
    path = Path()
    await decide(path, Action.PROMOTE, await disputed(path), text=MONDAY, despite=("contradiction",))
    (memory,) = [chunk for chunk in path.longterm.chunks if chunk.valid_to is None]
    assert (memory.content, memory.flags) == (MONDAY, ())


async def test_a_summary_that_a_person_wrote_needs_no_side() -> None:
    path = Path()
    one = await disputed(path)
    path.ledger.put(replace(await insight(path, one), summary=MONDAY, written_by=Writer.PERSON))
    await decide(path, Action.PROMOTE, one)
    assert verified(path) == [MONDAY]


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        ({"side": 2}, "promote_side_unknown"),
        ({"side": -1}, "promote_side_unknown"),
        ({"side": 0, "text": MONDAY}, "promote_side_and_text"),
        ({"despite": ("anything",)}, "promote_despite"),
    ],
)
async def test_a_choice_that_does_not_exist_is_refused(choice: dict[str, object], code: str) -> None:
    path = Path()
    with pytest.raises(InvalidInput) as refused:
        await decide(path, Action.PROMOTE, await disputed(path), **choice)
    assert (refused.value.code, verified(path)) == (code, [])
    assert "{" not in refused.value.text("en") + refused.value.text("zh")


async def test_a_side_of_an_insight_without_sides_is_refused() -> None:
    path = Path()
    with pytest.raises(InvalidInput) as refused:
        await decide(path, Action.PROMOTE, await offered(path, MONDAY, said(MONDAY)), side=0)
    assert refused.value.code == "promote_no_sides"


async def test_a_merged_insight_has_the_sides_of_all_until_the_merge_is_undone() -> None:
    path = Path()
    plain, one = await offered(path, MONDAY, said(MONDAY)), await disputed(path)
    before = (await insight(path, plain)).sides
    await decide(path, Action.MERGE, plain, others=(one,))
    assert [side.statement for side in (await insight(path, plain)).sides] == [MONDAY, FRIDAY]
    with pytest.raises(Conflict, match="contradict each other"):
        await decide(path, Action.PROMOTE, plain)
    await decide(path, Action.UNDO, plain)
    assert (await insight(path, plain)).sides == before == ()


async def test_a_headline_that_was_cut_is_promoted_as_the_whole_statement() -> None:
    path = Path()
    whole = f"{MONDAY[:-1]}, {'which takes long, ' * 12}and then **the lease** of the building ends."
    plain = whole.replace("**", "")
    one = await offered(path, f"{plain[:190]}…", said(whole))
    found = await insight(path, one)
    source = replace(found.sources[0], statement=whole, span=(0, len(whole)))
    path.ledger.put(replace(found, sources=(source,)))
    await decide(path, Action.PROMOTE, one)
    assert verified(path) == [plain]
    (decision,) = await path.review.decisions(group="g")
    assert (decision.text_before, decision.text_after) == (None, None)


async def test_the_statements_of_the_promoted_side_are_not_shown_as_unverified() -> None:
    path = Path(settings=Settings(retrieve_timeout_seconds=60))
    one = await disputed(path)
    found = await insight(path, one)
    spans = tuple(replace(source, span=(0, len(source.content))) for source in found.sources)
    path.ledger.put(replace(found, sources=spans))
    text = "Facilities say that the data centre in Lyon is switched off on Friday the 8th of May."
    path.ledger.put(
        replace(await insight(path, one), sides=tuple(replace(side, statement=text) for side in found.sides))
    )
    done = await decide(path, Action.PROMOTE, one, side=1)
    options = RetrieveOptions(sources=["hot"])

    async def list_unverified() -> list[str]:
        answer = await path.memory.acting_as(AGENT).retrieve("When is Lyon switched off?", group="g", options=options)
        return sorted(item.content for item in answer.items)

    assert await list_unverified() == [MONDAY]
    assert done.decision_id is not None
    await path.review.undo(done.decision_id, group="g")
    assert await list_unverified() == [FRIDAY, MONDAY]
