"""The playground in a browser."""

from uuid import uuid4

import pytest
from playwright.async_api import expect

from clearwell.records import NewCapture
from tests.browser.conftest import Console

VERIFIED = "Backups are kept for ninety days in two regions."
SAID = "The nightly backup of the billing database now takes eleven minutes instead of forty."


async def test_a_question_shows_items_of_both_tiers_and_the_context(console: Console) -> None:
    group = f"playground-{uuid4()}"
    await console.memory.promote(VERIFIED, group=group)
    said = NewCapture(content=SAID, group_id=group, agent_id="scout", metadata={"confidence": 0.9})
    await console.memory.capture(said, wait=True)
    async with console.open(f"/g/{group}/playground") as page:
        await expect(page.get_by_role("heading", name="What would an agent be given?")).to_be_visible()
        await page.get_by_label("Ask memory as an agent would").fill(
            "How long are backups kept, and how long do they take?"
        )
        await page.get_by_role("button", name="Ask", exact=True).click()
        items = page.locator(".records .record")
        await expect(items).to_have_count(2)
        await expect(page.locator(".record.cold .badge-verified")).to_have_text("✅ Verified")
        await expect(page.locator(".record.hot .badge-ephemeral")).to_have_text("⚡️ Unverified")
        await items.first.get_by_text("Why here?").click()
        await expect(items.first.locator(".parts")).to_contain_text("vectors")
        await expect(page.locator("table")).to_contain_text("included")
        await page.get_by_text("Show the text").click()
        await expect(page.locator(".context-text")).to_contain_text("ninety days")
        assert "q=How+long" in page.url


async def test_what_the_budget_cut_is_named_by_its_text(console: Console) -> None:
    group = f"playground-{uuid4()}"
    await console.memory.promote(VERIFIED + " The second region is checked every night." * 40, group=group)
    async with console.open(f"/g/{group}/playground?q=How+long+are+backups+kept%3F&max_tokens=200") as page:
        await expect(page.locator("table")).to_contain_text(f"“{VERIFIED}")


@pytest.mark.parametrize(
    ("option", "said"), [("max_results=-1", "1..100"), ("max_results=many", "max_results"), ("hot_threshold=7", "0..1")]
)
async def test_a_wrong_option_is_explained_beside_its_field(console: Console, option: str, said: str) -> None:
    path = f"/g/playground-{uuid4()}/playground?q=Backups+of+May&agent=scout&{option}"
    async with console.open(path, language="zh-CN") as page:
        await expect(page.get_by_label("像智能体一样")).to_have_value("Backups of May")
        await expect(page.get_by_label("智能体", exact=True)).to_have_value("scout")
        wrong = page.locator("[aria-invalid]")
        await expect(wrong).to_have_count(1)
        await expect(wrong).to_be_visible()
        assert await wrong.get_attribute("name") == option.partition("=")[0]
        await expect(wrong).to_have_value(option.partition("=")[2])
        await expect(page.locator(".fault")).to_contain_text(said)
