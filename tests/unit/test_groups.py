"""What groups and agents are told: who may write it, who may read it, and what may be written."""

from dataclasses import replace
from datetime import timedelta

import pytest

from clearwell.errors import InvalidInput, NotAllowed, NotFound
from clearwell.flow.digest.cron import require_cron, require_zone
from clearwell.flow.digest.schedule import find_next_tick
from clearwell.records import Group, GroupChange, Principal, Right
from tests.path import AGENT, PERSON, Path

ADMIN = Principal(name="admin", rights=frozenset({Right.ADMIN}), groups=frozenset({"g"}))
BOUND = Principal(name="a1", rights=frozenset({Right.READ}), groups=frozenset({"g"}), agent_id="a1")


async def test_an_administrator_describes_a_group_and_readers_read_it() -> None:
    path = Path()
    change = GroupChange(system_prompt="Decide by evidence.", digest_cron=" 0  6 * * 1 ", digest_zone="Asia/Shanghai")
    described = await path.memory.acting_as(ADMIN).change_group(change, group="g")
    assert (described.digest_cron, described.digest_zone) == ("0 6 * * 1", "Asia/Shanghai")
    assert await path.memory.acting_as(AGENT).group("g") == described
    kept = await path.memory.acting_as(ADMIN).change_group(GroupChange(digest_cron=None), group="g")
    assert (kept.system_prompt, kept.digest_cron) == ("Decide by evidence.", None)
    assert [(one.actor, one.action, one.subject, one.detail["changed"]) for one in path.groups.events] == [
        ("admin", "change group", "group g", ["system_prompt", "digest_cron", "digest_zone"]),
        ("admin", "change group", "group g", ["digest_cron"]),
    ]


async def test_a_group_that_nobody_described_is_empty() -> None:
    found = await Path().memory.acting_as(AGENT).group("g")
    assert replace(found, next_digest_at=None) == Group(group_id="g")


async def test_a_group_has_the_time_of_its_next_digest() -> None:
    path = Path()
    now, memory = path.clock.now(), path.memory.acting_as(ADMIN)
    by_default = (await memory.group("g")).next_digest_at
    assert by_default == find_next_tick(path.settings.digest_cron, path.settings.digest_zone, now)
    own = await memory.change_group(GroupChange(digest_cron="0 6 * * *", digest_zone="Asia/Shanghai"), group="g")
    assert own.next_digest_at == find_next_tick("0 6 * * *", "Asia/Shanghai", now)
    assert [one.next_digest_at for one in await memory.groups()] == [own.next_digest_at]
    path.clock.forward(timedelta(days=1))
    assert own.next_digest_at is not None
    assert (await memory.group("g")).next_digest_at == own.next_digest_at + timedelta(days=1)
    never = Path(settings=path.settings.model_copy(update={"digest_cron": ""}))
    assert (await never.memory.acting_as(ADMIN).group("g")).next_digest_at is None


async def test_agents_and_readers_write_nothing() -> None:
    memory = Path().memory
    for by in (AGENT, BOUND, PERSON.lowered()):
        with pytest.raises(NotAllowed):
            await memory.acting_as(by).change_group(GroupChange(system_prompt="x"), group="g")
        with pytest.raises(NotAllowed):
            await memory.acting_as(by).put_agent("a1", persona="x", group="g")
        with pytest.raises(NotAllowed):
            await memory.acting_as(by).remove_agent("a1", group="g")


async def test_a_key_lists_and_reads_the_groups_it_covers() -> None:
    memory = Path().memory
    for group in ("g", "h"):
        await memory.acting_as(PERSON).change_group(GroupChange(system_prompt=group), group=group)
    assert [one.group_id for one in await memory.acting_as(PERSON).groups()] == ["g", "h"]
    assert [one.group_id for one in await memory.acting_as(AGENT).groups()] == ["g"]
    for by in (AGENT, ADMIN):
        with pytest.raises(NotAllowed):
            await memory.acting_as(by).group("h")
    with pytest.raises(NotAllowed):
        await memory.acting_as(ADMIN).change_group(GroupChange(system_prompt="x"), group="h")
    with pytest.raises(InvalidInput):
        await memory.acting_as(PERSON).change_group(GroupChange(system_prompt="x"), group="unassigned")


async def test_a_key_of_an_agent_reads_its_own_persona_only() -> None:
    memory = Path().memory
    for agent in ("a1", "a2"):
        await memory.acting_as(ADMIN).put_agent(agent, persona=f"You are {agent}.", group="g")
    assert (await memory.acting_as(BOUND).agent("a1", group="g")).persona == "You are a1."
    assert [one.agent_id for one in await memory.acting_as(BOUND).agents(group="g")] == ["a1"]
    assert [one.agent_id for one in await memory.acting_as(AGENT).agents(group="g")] == ["a1", "a2"]
    with pytest.raises(NotAllowed):
        await memory.acting_as(BOUND).agent("a2", group="g")


async def test_a_persona_that_is_removed_is_gone() -> None:
    memory = Path().memory
    await memory.acting_as(ADMIN).put_agent("a1", persona="x", group="g")
    await memory.acting_as(ADMIN).remove_agent("a1", group="g")
    with pytest.raises(NotFound):
        await memory.acting_as(ADMIN).agent("a1", group="g")
    with pytest.raises(NotFound):
        await memory.acting_as(ADMIN).remove_agent("a1", group="g")


@pytest.mark.parametrize(
    ("text", "code"), [("é" * 16_385, "prompt_large"), ("a\x00", "text_nul"), ("\ud800", "text_surrogate")]
)
async def test_prompts_that_are_refused(text: str, code: str) -> None:
    memory = Path().memory
    with pytest.raises(InvalidInput) as caught:
        await memory.acting_as(PERSON).change_group(GroupChange(system_prompt=text), group="g")
    assert (caught.value.code, caught.value.field) == (code, "system_prompt")
    with pytest.raises(InvalidInput) as caught:
        await memory.acting_as(PERSON).put_agent("a1", persona=text, group="g")
    assert (caught.value.code, caught.value.field) == (code, "persona")
    found = await memory.acting_as(PERSON).group("g")
    assert replace(found, next_digest_at=None) == Group(group_id="g")


@pytest.mark.parametrize("line", ["0 6 * * 1", "*/5 * * * *", "0 6 * * mon-fri", "30 7 1,15 * *", "0 0 29 2 *"])
def test_cron_lines_that_are_taken(line: str) -> None:
    assert require_cron(line) == line


@pytest.mark.parametrize(
    "line",
    ["", "x", "@weekly", "* * * * * *", "61 * * * *", "R 6 * * 1", "0 6 * *", "0 6 * * 1" + " " * 200, "0 6 * * 0-"]
)  # fmt: skip
def test_cron_lines_that_are_refused(line: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        require_cron(line)
    assert caught.value.code == "cron_invalid"


def test_a_time_that_never_comes_is_told() -> None:
    with pytest.raises(InvalidInput) as caught:
        require_cron("0 0 30 2 *")
    assert caught.value.code == "cron_never"


@pytest.mark.parametrize(
    "name",
    [
        "localtime",
        "Factory",
        "posixrules",
        "right/UTC",
        "",
        "Nowhere/Else",
        "../etc/passwd",
        "/etc/localtime",
        "a\x00",
        "北京",
        "x" * 500,
    ],
)
def test_zones_that_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        require_zone(name)
    assert caught.value.code == "zone_unknown"
