"""Groups and agents: described, changed in part, listed, removed."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from clearwell.ports import Stores
from clearwell.records import UNASSIGNED, ApiKey, Group, GroupChange, Prompts, Right
from tests.contract.ports import START, capture, event

LATER = START + timedelta(hours=1)
KEY = ApiKey(id=UUID(int=1), name="k", rights=frozenset({Right.READ}), groups=None, agent_id=None, created_at=START)


async def test_a_group_that_nobody_described_is_none(stores: Stores) -> None:
    assert await stores.groups.get("g") is None
    assert await stores.groups.all(None) == []
    assert await stores.groups.prompts("g", "a1") == Prompts()


async def test_only_what_is_named_is_changed(stores: Stores) -> None:
    first = GroupChange(system_prompt='评审组\n"quoted" {x} \'', digest_cron="0 6 * * 1", digest_zone="Asia/Shanghai")
    await stores.groups.change("g", first, event=event(1))
    described = Group(
        group_id="g",
        system_prompt='评审组\n"quoted" {x} \'',
        digest_cron="0 6 * * 1",
        digest_zone="Asia/Shanghai",
        created_at=START,
        updated_at=START,
    )
    assert await stores.groups.get("g") == described
    await stores.groups.change("g", GroupChange(digest_cron=None), event=replace(event(2), at=LATER))
    assert await stores.groups.get("g") == replace(described, digest_cron=None, updated_at=LATER)
    await stores.groups.change("g", GroupChange(system_prompt=None, digest_zone="UTC"), event=event(3))
    assert await stores.groups.get("g") == replace(described, system_prompt="", digest_cron=None, digest_zone="UTC")


async def test_a_group_may_be_described_in_part_from_the_start(stores: Stores) -> None:
    await stores.groups.change("g", GroupChange(digest_zone="UTC"), event=event(1))
    found = await stores.groups.get("g")
    assert found == Group(group_id="g", digest_zone="UTC", created_at=START, updated_at=START)


async def test_groups_are_listed_in_order_and_among_those_asked_for(stores: Stores) -> None:
    for number, name in enumerate(["组", "b", "a", "B"]):
        await stores.groups.change(name, GroupChange(system_prompt=name), event=event(number, name))
    assert [one.group_id for one in await stores.groups.all(None)] == ["B", "a", "b", "组"]
    assert [one.group_id for one in await stores.groups.all({"组", "a", "unknown"})] == ["a", "组"]
    assert await stores.groups.all(set()) == []


async def test_a_group_with_outputs_alone_is_listed_with_empty_settings(stores: Stores) -> None:
    await stores.groups.change("described", GroupChange(system_prompt="prompt"), event=event(1, "described"))
    for number, group in enumerate(["a", "b/c", UNASSIGNED], start=1):
        await stores.captures.add([capture(number, group)])
    assert [one.group_id for one in await stores.groups.all(None)] == ["a", "b/c", "described"]
    assert await stores.groups.all({"a"}) == [Group(group_id="a")]
    assert [await stores.groups.exists(name) for name in ("a", "described", "c")] == [True, True, False]


async def test_an_agent_is_of_one_group(stores: Stores) -> None:
    await stores.groups.put_agent("g", "a1", "A careful auditor.", event=event(1))
    await stores.groups.put_agent("other", "a1", "Someone else.", event=event(2, "other"))
    await stores.groups.put_agent("g", "a0", "", event=event(3))
    found = await stores.groups.agent("g", "a1")
    assert found is not None
    assert (found.persona, found.created_at, found.updated_at) == ("A careful auditor.", START, START)
    assert [one.agent_id for one in await stores.groups.agents("g")] == ["a0", "a1"]
    assert await stores.groups.agent("g", "a2") is None


async def test_a_persona_is_replaced_and_its_age_kept(stores: Stores) -> None:
    await stores.groups.put_agent("g", "a1", "first", event=event(1))
    await stores.groups.put_agent("g", "a1", "second", event=replace(event(2), at=LATER))
    found = await stores.groups.agent("g", "a1")
    assert found is not None
    assert (found.persona, found.created_at, found.updated_at) == ("second", START, LATER)


async def test_prompts_are_those_of_the_group_and_the_agent(stores: Stores) -> None:
    await stores.groups.put_agent("g", "a1", "persona", event=event(1))
    assert await stores.groups.prompts("g", "a1") == Prompts(persona="persona")
    await stores.groups.change("g", GroupChange(system_prompt="prompt"), event=event(2))
    assert await stores.groups.prompts("g", "a1") == Prompts(system_prompt="prompt", persona="persona")
    assert await stores.groups.prompts("g", None) == Prompts(system_prompt="prompt")
    assert await stores.groups.prompts("other", "a1") == Prompts()


async def test_named_agents_have_a_persona_or_a_key_of_the_group(stores: Stores) -> None:
    await stores.groups.put_agent("g", "a1", "persona", event=event(1))
    await stores.groups.put_agent("other", "a2", "persona", event=event(2, "other"))
    for number, (groups, agent_id) in enumerate(
        [(frozenset({"g"}), "a3"), (None, "a4"), (frozenset({"other"}), "a5"), (None, None)]
    ):
        await stores.keys.add(
            replace(KEY, id=UUID(int=number + 1), groups=groups, agent_id=agent_id),
            bytes([number]),
            event=event(10 + number, ""),
        )
    assert await stores.groups.agent_names("g") == {"a1", "a3", "a4"}


async def test_an_agent_is_removed_once(stores: Stores) -> None:
    await stores.groups.put_agent("g", "a1", "persona", event=event(1))
    assert not await stores.groups.remove_agent("other", "a1", event=event(2, "other"))
    assert await stores.groups.remove_agent("g", "a1", event=event(3))
    assert not await stores.groups.remove_agent("g", "a1", event=event(4))
    assert await stores.groups.agents("g") == []
