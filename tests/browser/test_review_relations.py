"""What an insight of a real digest says beside verified memories, in the review inbox."""

from collections.abc import Mapping, Sequence
from uuid import UUID, uuid4

import psycopg
import pytest
from playwright.async_api import expect
from psycopg.types.json import Jsonb

from clearwell.records import NewCapture
from tests.browser.conftest import Console
from tests.browser.test_review import said, set_sides
from tests.browser.test_review_inbox import put_sides
from tests.insights import put_insight

ROOM = """one => {
  const style = getComputedStyle(one), pen = document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const text = pen.measureText(one.selectedOptions[0].text).width;
  return one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - text;
}"""
"""How many pixels a select has left beside the text that it shows."""
KEPT = "Backups of the billing database are kept for ninety days in two regions."
CHANGED = "Backups of the billing database are kept for sixty days in two regions."
STOCK = "The warehouse in Hamburg counts its stock with drones in the first week of a quarter."
DEVICES = "Every mobile release is tested on six devices before it is sent to the stores."
SIMILAR = "The warehouse in Hamburg has two independent power lines since the renovation in May."
ZH_KEPT, ZH_CHANGED = "账单数据库的备份在两个地区保存九十天。", "账单数据库的备份在两个地区保存六十天。"


@pytest.fixture
async def group(console: Console) -> str:
    """A group in which two memories are verified, and agents agree on what changes one and resembles the other."""
    name = f"relations-{uuid4()}"
    for memory in (KEPT, SIMILAR):
        await console.memory.promote(memory, group=name)
    for agent, session in (("scout", "m1"), ("auditor", "m2")):
        for text in (CHANGED, STOCK, DEVICES):
            await say(console, name, agent, session, text)
    return name


async def say(console: Console, group: str, agent: str, session: str, text: str) -> None:
    output = NewCapture(
        content=text, group_id=group, agent_id=agent, session_id=session, node_id=agent, metadata={"confidence": 0.9}
    )
    await console.memory.capture(output, wait=True)


async def test_a_digest_is_followed_and_its_insight_supersedes_a_memory(console: Console, group: str) -> None:
    async with console.open(f"/g/{group}/review") as page:
        await expect(page.locator(".live.on")).to_be_visible()
        await page.get_by_role("button", name="Make a digest now").click()
        await expect(page.locator(".insight-list li")).to_have_count(3)
        await expect(page.locator(".dossier")).to_be_visible()
        await page.locator(".insight-list a", has_text="sixty days").click()
        nearby = page.locator(".nearby-supersedes")
        await expect(nearby.get_by_role("heading")).to_contain_text("Would supersede")
        await expect(nearby.locator("del")).to_have_text("ninety")
        await expect(nearby.locator("ins")).to_have_text("sixty")
        await expect(page.get_by_text("A number differs")).to_have_count(1)
        await expect(nearby.get_by_role("link", name="Open the memory")).to_be_visible()
        for filter_of in await page.locator(".inbox-side select").all():
            assert await filter_of.evaluate(ROOM) >= 0
        await page.keyboard.press("p")
        await expect(page.locator("#message")).to_contain_text("Promoted")
    found = await console.memory.retrieve("How long are backups of the billing database kept?", group=group)
    verified = [item.content for item in found.items if item.verified and "Backups" in item.content]
    assert verified == [CHANGED]


async def test_an_insight_shows_what_it_resembles_and_is_merged(console: Console, group: str) -> None:
    await console.memory.request_digest(group=group)
    async with console.open(f"/g/{group}/review") as page:
        await page.locator(".insight-list a", has_text="Hamburg").click()
        await expect(page.locator(".dossier > .statement")).to_contain_text("drones")
        resembles = page.locator("section", has=page.get_by_role("heading", name="Similar memories"))
        await expect(resembles.locator("li", has_text="two independent power lines")).to_have_count(1)
        await page.keyboard.press("m")
        dialog = page.locator("dialog#merge")
        await dialog.locator("li", has_text="six devices").get_by_role("checkbox").check()
        await dialog.get_by_role("button", name="Merge").click()
        await expect(page.locator(".dossier > .statement")).to_contain_text(DEVICES)
        await expect(page.locator(".dossier > .statement")).to_contain_text("drones")
        await expect(page.locator(".insight-list li")).to_have_count(2)


async def test_a_diff_of_chinese_texts_is_by_words(console: Console) -> None:
    group = f"relations-{uuid4()}"
    await console.memory.promote(ZH_KEPT, group=group)
    for agent, session in (("scout", "m1"), ("auditor", "m2")):
        await say(console, group, agent, session, ZH_CHANGED)
    await console.memory.request_digest(group=group)
    async with console.open(f"/g/{group}/review", language="zh-CN") as page:
        nearby = page.locator(".nearby-supersedes")
        await expect(nearby.get_by_role("heading")).to_contain_text("可取代")
        await expect(nearby.locator("del")).to_have_text("九十天")
        await expect(nearby.locator("ins")).to_have_text("六十天")


@pytest.mark.parametrize("memory_first", [True, False])
async def test_a_contradicted_memory_is_superseded_or_disputed(console: Console, memory_first: bool) -> None:
    group = f"relations-{uuid4()}"
    if memory_first:
        await console.memory.promote(KEPT, group=group)
    for agent, session in (("scout", "m1"), ("auditor", "m2")):
        await say(console, group, agent, session, CHANGED)
    if not memory_first:
        await console.memory.promote(KEPT, group=group)
    await console.memory.request_digest(group=group)
    async with console.open(f"/g/{group}/review") as page:
        box = page.locator(".dossier > .nearby").get_by_role("checkbox")
        await expect(box).to_be_checked(checked=memory_first)
        await expect(page.get_by_text("both stay verified and are shown as disputed").first).to_be_visible()
        await expect(page.get_by_text("something that the group already has in memory")).to_have_count(0)
        await page.keyboard.press("o")
        await expect(box).to_be_checked(checked=not memory_first)
        await expect(page.locator("#edit [name=supersedes]")).to_be_checked(checked=not memory_first)
        await page.keyboard.press("p")
        await expect(page.locator("#message")).to_contain_text("Promoted: ")
        await expect(page.locator("#message", has_text="Both are shown as disputed")).to_have_count(int(memory_first))
        await page.goto(f"/g/{group}/review?state=promoted")
        await expect(page.locator(".dossier > .statement")).to_contain_text("sixty")
        await expect(page.locator(".nearby-duplicates")).to_have_count(0)
    found = await console.memory.retrieve("How long are backups of the billing database kept?", group=group)
    verified = {item.content for item in found.items if item.verified}
    assert verified == ({KEPT, CHANGED} if memory_first else {CHANGED})


async def test_a_side_supersedes_a_memory_if_the_box_is_ticked(console: Console) -> None:
    group = f"relations-{uuid4()}"
    logs = [
        (await console.memory.capture(said(group, text, agent), wait=True)).id
        for text, agent in ((CHANGED, "scout"), (CHANGED.replace("sixty", "forty"), "auditor"))
    ]
    memory = await console.memory.promote(KEPT, group=group)
    insight = await put_insight(console.clearwell, group, CHANGED, logs, flags=["contradiction"])
    await set_sides(console, insight, [(CHANGED, logs[0]), (CHANGED.replace("sixty", "forty"), logs[1])])
    async with console.open(f"/g/{group}/review") as page:
        box = page.locator(".dossier > .nearby").get_by_role("checkbox")
        await expect(box).not_to_be_checked()
        await page.keyboard.press("o")
        await page.keyboard.press("2")
        await expect(page.get_by_role("heading", name="All done")).to_be_visible()
    (decision, *_) = await console.memory.review.decisions(group=group)
    assert decision.supersedes == memory.id


async def test_a_source_that_repeats_another_is_no_refusal(console: Console) -> None:
    group = f"relations-{uuid4()}"
    await put_insight(console.clearwell, group, STOCK, [said(group, STOCK), said(group, STOCK, "auditor")])
    async with console.open(f"/g/{group}/review") as page:
        await expect(page.locator(".sources .chip")).to_have_text(["repeats an earlier statement"])
        await expect(page.locator(".sources .chip-warn")).to_have_count(0)


async def test_a_contradiction_is_named_in_chinese(console: Console) -> None:
    group = f"relations-{uuid4()}"
    for agent, session in (("scout", "m1"), ("auditor", "m2")):
        await say(console, group, agent, session, ZH_CHANGED)
    await console.memory.promote(ZH_KEPT, group=group)
    await console.memory.request_digest(group=group)
    async with console.open(f"/g/{group}/review", language="zh-CN") as page:
        await expect(page.locator(".nearby-contradicts").get_by_role("heading")).to_contain_text("与已验证的记忆矛盾")


async def test_of_memories_that_only_the_digest_compared_one_is_superseded(console: Console) -> None:
    group = f"relations-{uuid4()}"
    other = "The warehouse in Bremen counts its stock with scanners in the last week of a month."
    memories = [(await console.memory.promote(text, group=group)).id for text in (SIMILAR, other)]
    insight = await put_insight(console.clearwell, group, STOCK, [said(group, STOCK)])
    await set_contradictions(console, insight, memories)
    async with console.open(f"/g/{group}/review") as page:
        boxes = page.locator(".dossier > .nearby-contradicts").get_by_role("checkbox")
        await expect(boxes).to_have_count(2)
        await boxes.nth(0).check()
        await boxes.nth(1).check()
        await expect(boxes.nth(0)).not_to_be_checked()
        wanted = await boxes.nth(1).get_attribute("value")
        await page.keyboard.press("p")
        await expect(page.locator("#message")).to_contain_text("Promoted: ")
    (decision, *_) = await console.memory.review.decisions(group=group)
    assert str(decision.supersedes) == wanted


async def set_contradictions(console: Console, insight: UUID, memories: list[UUID]) -> None:
    value = [
        {"of": str(uuid4()), "against": str(one), "layer": "longterm", "reason": "differs_number", "params": {}}
        for one in memories
    ]
    await put_contradictions(console, insight, value)


async def put_contradictions(console: Console, insight: UUID, value: Sequence[Mapping[str, object]]) -> None:
    assert console.clearwell.settings.database_url is not None
    url = console.clearwell.settings.database_url.get_secret_value()
    async with await psycopg.AsyncConnection.connect(url) as owner:
        await owner.execute("UPDATE insights SET contradictions = %s WHERE id = %s", (Jsonb(value), insight))


async def test_a_contradiction_of_two_sides_is_explained_once(console: Console) -> None:
    group = f"relations-{uuid4()}"
    seven, ten = "Logs of the gateway are kept for seven years.", "Logs of the gateway are kept for ten years."
    logs = [
        (await console.memory.capture(said(group, text, agent), wait=True)).id
        for text, agent in ((seven, "scout"), (ten, "auditor"), (f"As agreed: {seven}", "clerk"))
    ]
    insight = await put_insight(console.clearwell, group, f"{seven} / {ten}", logs, flags=["contradiction"])
    await set_sides(console, insight, [(seven, logs[0]), (ten, logs[1])], (logs[2], 0))
    years = {"new": "seven years", "known": "ten years"}
    found = [
        {"of": str(of), "against": str(to), "layer": "quarantine", "reason": "conflict_number", "params": params}
        for of, to, params in (
            (logs[0], logs[1], years),
            (logs[1], logs[2], {"new": "ten years", "known": "seven years"}),
        )
    ]
    await put_contradictions(console, insight, found)
    async with console.open(f"/g/{group}/review") as page:
        await expect(page.locator(".side-card")).to_have_count(2)
        await expect(page.locator(".remarks li")).to_have_text(["A number differs: seven years instead of ten years."])


async def test_sides_that_are_both_right_are_kept_together(console: Console) -> None:
    group = f"relations-{uuid4()}"
    await put_sides(console, group)
    async with console.open(f"/g/{group}/review") as page:
        await page.keyboard.press("?")
        await expect(page.locator("#keys-help")).to_contain_text("both sides are right: promote both")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Both are right: keep both")).to_be_visible()
        await page.keyboard.press("b")
        await expect(page.get_by_role("heading", name="All done")).to_be_visible()
    (memory,) = await console.memory.review.memories(group=group)
    text = memory.promotion.promotion.text
    assert ("third of March" in text.content, "tenth of March" in text.content) == (True, True)
    assert "contradiction" in text.flags


async def test_a_conflict_of_another_sentence_of_the_output_is_not_shown(console: Console) -> None:
    group = f"relations-{uuid4()}"
    await console.memory.promote(KEPT, group=group)
    row = await console.memory.capture(said(group, f"{CHANGED} {STOCK}"), wait=True)
    insight = await put_insight(console.clearwell, group, STOCK, [row.id])
    shown = await console.memory.review.insight(insight, group=group)
    assert ("conflict" in shown.insight.sources[0].flags, "conflict" in shown.flags) == (True, False)
    async with console.open(f"/g/{group}/review") as page:
        await expect(page.locator(".dossier > .statement")).to_have_text(STOCK)
        await expect(page.locator(".remarks")).not_to_contain_text("contradicts")


@pytest.mark.parametrize(
    ("language", "said_so", "link"),
    [
        ("en-US", "A later digest merged this insight", "Open the merged insight"),
        ("zh-CN", "后来的简报", "打开合并后的洞察"),
    ],
)
async def test_an_insight_that_a_digest_merged_leads_to_the_other(
    console: Console, language: str, said_so: str, link: str
) -> None:
    group = f"relations-{uuid4()}"
    earlier = await put_insight(console.clearwell, group, STOCK, [said(group, STOCK)])
    merged = await put_sides(console, group)
    await set_merged(console, earlier, merged)
    async with console.open(f"/g/{group}/review?at={earlier}", language=language) as page:
        await expect(page.locator(".dossier > .notice")).to_contain_text(said_so)
        await page.locator(".dossier").get_by_role("link", name=link).click()
        await expect(page.locator(".side-card")).to_have_count(2)
        await page.goto(f"/g/{group}/review?state=merged")
        await expect(page.locator(".insight-list li")).to_have_count(1)
        await expect(page.locator(".dossier > .notice").get_by_role("link", name=link)).to_be_visible()


async def set_merged(console: Console, insight: UUID, into: UUID) -> None:
    """As a digest stores it: without a decision."""
    assert console.clearwell.settings.database_url is not None
    url = console.clearwell.settings.database_url.get_secret_value()
    async with await psycopg.AsyncConnection.connect(url) as owner:
        await owner.execute("UPDATE insights SET state = 'merged', merged_into = %s WHERE id = %s", (into, insight))
