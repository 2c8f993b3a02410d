"""What an insight of a real digest says beside verified memories, in the review inbox."""

from uuid import uuid4

import pytest
from playwright.async_api import expect

from clearwell.records import NewCapture
from tests.browser.conftest import Console

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
    said = NewCapture(
        content=text, group_id=group, agent_id=agent, session_id=session, node_id=agent, metadata={"confidence": 0.9}
    )
    await console.memory.capture(said, wait=True)


async def test_a_digest_is_followed_and_its_insight_supersedes_a_memory(console: Console, group: str) -> None:
    async with console.open(f"/g/{group}/review") as page:
        await expect(page.locator(".live.on")).to_be_visible()
        await page.get_by_role("button", name="Make a digest now").click()
        await expect(page.locator(".insight-list li")).to_have_count(3)
        await expect(page.locator(".dossier")).to_be_visible()
        await page.locator(".insight-list a", has_text="sixty days").click()
        beside = page.locator(".beside-supersedes")
        await expect(beside.get_by_role("heading")).to_contain_text("Would supersede")
        await expect(beside.locator("del")).to_have_text("ninety")
        await expect(beside.locator("ins")).to_have_text("sixty")
        await expect(page.get_by_text("A number differs")).to_have_count(1)
        await expect(beside.get_by_role("link", name="Open the memory")).to_be_visible()
        for filter_of in await page.locator(".inbox-side select").all():
            assert await filter_of.evaluate(ROOM) >= 0
        await page.keyboard.press("p")
        await expect(page.locator("#toasts")).to_contain_text("Promoted")
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
        await dialog.get_by_role("button", name="Merge").click()
        await expect(page.locator("#toasts [role=alert]")).to_be_visible()
        assert await page.evaluate("document.getElementById('toasts').matches(':popover-open')"), "above the dialog"
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
        beside = page.locator(".beside-supersedes")
        await expect(beside.get_by_role("heading")).to_contain_text("可取代")
        await expect(beside.locator("del")).to_have_text("九十天")
        await expect(beside.locator("ins")).to_have_text("六十天")
