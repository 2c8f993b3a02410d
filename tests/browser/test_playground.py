"""The playground in a browser."""

from uuid import uuid4

import pytest
from playwright.async_api import Browser, expect
from pydantic import SecretStr

from clearwell.records import NewCapture
from clearwell.settings import Settings
from tests.browser.conftest import Console, run_console

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


async def test_a_question_is_asked_by_keys_and_a_missing_one_is_named(console: Console) -> None:
    group = f"playground-{uuid4()}"
    await console.memory.promote(VERIFIED, group=group)
    said = NewCapture(content=SAID, group_id=group, agent_id="scout", metadata={"confidence": 0.9})
    await console.memory.capture(said, wait=True)
    async with console.open(f"/g/{group}/playground") as page:
        await page.get_by_role("button", name="Ask", exact=True).click()
        await expect(page.get_by_role("alert")).to_have_text("Type a question.")
        question = page.get_by_label("Ask memory as an agent would")
        await expect(question).to_be_focused()
        await question.fill("How long are backups kept, and how long do they take?")
        await expect(page.get_by_role("alert")).to_have_count(0)
        await question.press("Control+Enter")
        await expect(page.locator(".records .record")).to_have_count(2)
        await expect(
            page.get_by_text("The order does not follow scores alone: verified items that answer")
        ).to_be_visible()
        await page.goto(f"/g/{group}/playground?q=+&tier=cold")
        await expect(page.get_by_role("alert")).to_have_text("Type a question.")


async def test_what_the_budget_cut_is_named_by_its_text(console: Console) -> None:
    group = f"playground-{uuid4()}"
    await console.memory.promote(VERIFIED + " The second region is checked every night." * 40, group=group)
    async with console.open(f"/g/{group}/playground?q=How+long+are+backups+kept%3F&max_tokens=200") as page:
        await expect(page.locator("table")).to_contain_text(f"“{VERIFIED}")


async def test_an_item_that_is_cut_says_that_its_text_goes_on(console: Console) -> None:
    group = f"playground-{uuid4()}"
    await console.memory.promote(f"{VERIFIED} {'They are copied at night. ' * 2000}", group=group)
    async with console.open(f"/g/{group}/playground?q=How+long+are+backups+kept") as page:
        await expect(page.locator(".record.cold")).to_contain_text("… The text goes on.")


async def test_memories_that_contradict_each_other_are_shown_as_disputed(console: Console) -> None:
    group = f"playground-{uuid4()}"
    first = await console.memory.promote("The backup of the billing database takes eleven minutes.", group=group)
    other = await console.memory.promote("The backup of the billing database takes forty minutes.", group=group)
    assert other.conflicts_with == (first.id,)
    async with console.open(f"/g/{group}/playground?q=How+long+does+the+backup+take%3F") as page:
        item = page.locator(".record").filter(has=page.locator("div.agent-text", has_text="eleven minutes"))
        await expect(item.locator(".record-head")).to_contain_text("contradicts 1")
        await expect(item).to_contain_text("contradicts other verified memories")
        await item.get_by_role("link", name="takes forty minutes").click()
        await page.wait_for_url(f"**/memories/{other.id}")


async def test_the_tokens_of_the_context_add_up(console: Console) -> None:
    group = f"playground-{uuid4()}"
    for number in range(6):
        await console.memory.promote(
            f"Backups of region {number} " + "are copied and read back at night. " * 12, group=group
        )
    async with console.open(f"/g/{group}/playground?q=backups+of+the+regions&max_tokens=300") as page:
        cells = [int(text) for text in await page.locator("table tbody td:nth-child(2)").all_inner_texts()]
        total = int(await page.locator("table tfoot td").first.inner_text())
        assert sum(cells) == total
        await expect(page.locator(".budget")).to_contain_text(f"{total} of 300 tokens")
        await expect(page.get_by_text(f"{300 - total} tokens are left.")).to_be_visible()
        await expect(page.locator("table")).to_contain_text("does not fit into the token budget")


async def test_a_degraded_answer_says_what_is_missing(console_settings: Settings, browser: Browser) -> None:
    settings = console_settings.model_copy(update={"redis_url": SecretStr("redis://127.0.0.1:1/0")})
    async with run_console(settings, browser) as degraded, degraded.open("/g/down/playground?q=backups") as page:
        await expect(page.get_by_role("alert")).to_have_text(
            "Redis or Valkey does not respond: entries of working memory are missing from this answer."
        )


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
        await expect(page.locator(".fault:visible")).to_contain_text(said)


async def test_a_question_that_is_half_written_outlives_a_reload_and_the_other_language(console: Console) -> None:
    group = f"playground-{uuid4()}"
    await console.memory.capture(NewCapture(content=SAID, group_id=group, metadata={"confidence": 0.9}), wait=True)
    async with console.open(f"/g/{group}/playground") as page:
        field = page.locator("#q")
        await field.fill("When is the lau")
        await page.reload()
        await expect(field).to_have_value("When is the lau")
        await page.get_by_role("button", name="中文").click()
        await expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
        await expect(field).to_have_value("When is the lau")
        await page.goto(f"/g/{group}/agents")
        prompt = page.locator("[name=system_prompt]")
        await prompt.fill("Answer in")
        await page.reload()
        await expect(prompt).to_have_value("Answer in")
