"""A promoted text that contradicts verified memories is stored, and each names the other while both are valid."""

from uuid import UUID

from clearwell.records import Action, NewMemory, PromotionResult
from tests.path import LONG, Path, said
from tests.unit.test_review import THIRD, decide, offered

OTHER_DAY = LONG.replace("Monday", "Tuesday")


async def promoted(path: Path, content: str, *, supersedes: UUID | None = None) -> PromotionResult:
    return await path.memory.promote(content, group="g", supersedes=supersedes)


async def conflicts(path: Path) -> dict[UUID, tuple[UUID, ...]]:
    found = await path.memory.retrieve(LONG, group="g")
    return {item.id: item.conflicts_with for item in found.items if item.verified}


async def test_both_are_memories_and_name_each_other() -> None:
    path = Path()
    one, unrelated = await promoted(path, LONG), await promoted(path, THIRD)
    two = await promoted(path, OTHER_DAY)
    assert (one.conflicts_with, unrelated.conflicts_with, two.conflicts_with) == ((), (), (one.id,))
    found = await conflicts(path)
    assert (found[one.id], found[two.id]) == ((two.id,), (one.id,))
    assert found.get(unrelated.id, ()) == ()
    again = await promoted(path, OTHER_DAY)
    assert (again.already, again.conflicts_with) == (True, (one.id,))


async def test_what_is_replaced_is_no_conflict_any_more() -> None:
    path = Path()
    one, two = await promoted(path, LONG), await promoted(path, OTHER_DAY)
    replaced = await promoted(path, OTHER_DAY, supersedes=one.id)
    assert (replaced.id, replaced.conflicts_with) == (two.id, ())
    assert await conflicts(path) == {two.id: ()}


async def test_a_text_that_replaces_what_it_contradicts_has_no_conflict() -> None:
    path = Path()
    one = await promoted(path, LONG)
    two = await promoted(path, OTHER_DAY, supersedes=one.id)
    assert (two.conflicts_with, await conflicts(path)) == ((), {two.id: ()})


async def test_a_sentence_of_a_longer_text_is_enough() -> None:
    path = Path()
    one = await promoted(path, LONG)
    longer = await promoted(path, f"{THIRD} {OTHER_DAY}")
    assert longer.conflicts_with == (one.id,)


async def test_a_longer_memory_is_compared_statement_by_statement() -> None:
    path = Path()
    longer = await promoted(path, f"## Update\n\n{THIRD}\n\n{LONG}")
    changed = await promoted(path, OTHER_DAY)
    assert changed.conflicts_with == (longer.id,)


async def test_what_is_no_statement_takes_no_place_of_one() -> None:
    path = Path()
    one = await promoted(path, LONG)
    questions = "\n".join(f"## Item {number}\n\nWho will take item {number} of the list?\n" for number in range(20))
    longer = await promoted(path, f"{questions}\n{THIRD}\n\n{OTHER_DAY}")
    assert longer.conflicts_with == (one.id,)


async def test_a_promoted_insight_says_what_it_contradicts() -> None:
    path = Path()
    one = await promoted(path, LONG)
    done = await decide(path, Action.PROMOTE, await offered(path, OTHER_DAY, said(OTHER_DAY)))
    assert done.conflicts_with == (one.id,)
    assert done.insight is not None
    replaced = await decide(path, Action.UNDO, done.insight.id)
    assert replaced.status == "undone"
    assert await conflicts(path) == {one.id: ()}


async def test_texts_of_a_batch_are_each_compared() -> None:
    path = Path()
    one = await promoted(path, LONG)
    results = await path.memory.promote_many([NewMemory(content=THIRD), NewMemory(content=OTHER_DAY)], group="g")
    found = [result.conflicts_with for result in results if isinstance(result, PromotionResult)]
    assert found == [(), (one.id,)]
