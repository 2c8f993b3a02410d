"""The overview in a browser: counts that follow the events, and the switches of every page."""

from uuid import uuid4

from playwright.async_api import Browser, expect
from pydantic import SecretStr

from clearwell.records import NewCapture
from clearwell.settings import Settings
from tests.browser.conftest import Console, run_console

SAID = "The payment gateway times out above five hundred parallel requests; capacity has to be added before the launch."
SAID_NEXT = "Nightly backups of the billing database now take eleven minutes instead of forty minutes."


def say(group: str, content: str, confidence: float = 0.9) -> NewCapture:
    return NewCapture(content=content, group_id=group, agent_id="scout", metadata={"confidence": confidence})


async def test_counts_follow_what_happens(console: Console) -> None:
    group = f"live/{uuid4()}"
    await console.memory.capture(say(group, SAID), wait=True)
    async with console.open("/") as page:
        await page.locator(".switcher summary").click()
        await page.get_by_role("link", name=group).click()
        working = page.locator(".tier-working .count").first
        await expect(working).to_have_text("entries now1")
        await expect(page.locator(".live")).to_have_text("live")
        await console.memory.capture(say(group, SAID_NEXT), wait=True)
        await console.memory.capture(say(group, "A guess that nobody has looked into yet, as far as known.", 0.2))
        await expect(working).to_have_text("entries now2")
        await expect(page.locator(".tier-quarantine .count").last).to_have_text("refused1")
        bar = page.get_by_role("meter", name="confidence")
        await expect(bar).to_have_attribute("aria-valuenow", "1")
        whole, filled = await bar.bounding_box(), await bar.locator("rect").bounding_box()
        assert whole == filled, "the only check that refused fills its bar, from top to bottom"


async def test_language_and_colours_can_be_changed(console: Console) -> None:
    group = f"switch-{uuid4()}"
    await console.memory.capture(say(group, SAID), wait=True)
    async with console.open(f"/g/{group}/overview") as page:
        await expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        await page.get_by_role("button", name="中文").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("概览")
        await expect(page.locator(".badge-ephemeral")).to_have_text("⚡️ 临时上下文")
        await page.get_by_role("button", name="深色").click()
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await page.reload()
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    async with console.open(f"/g/{group}/overview", language="zh-CN", width=390) as page:
        await expect(page.get_by_role("heading", level=1)).to_have_text("概览")
        await page.get_by_role("button", name="菜单").click()
        await expect(page.get_by_role("link", name="概览")).to_be_visible()
        width = await page.evaluate("document.documentElement.scrollWidth")
        assert width == 390


async def test_a_newcomer_runs_the_demo_with_one_click(console: Console) -> None:
    async with console.open(f"/g/new-{uuid4()}/overview") as page:
        await expect(page.get_by_role("heading", name="This group is empty")).to_be_visible()
        await page.get_by_role("button", name="Run the demo meeting").click()
        await page.wait_for_url("**/g/demo-*/overview")
        memories = page.locator(".tier-longterm .count dd").first
        await expect(memories).not_to_have_text("0", timeout=90_000)
        await page.reload()
        await expect(page.locator(".chart canvas")).to_have_count(3)


async def test_a_part_that_is_down_is_named_in_plain_words(console_settings: Settings, browser: Browser) -> None:
    settings = console_settings.model_copy(update={"redis_url": SecretStr("redis://127.0.0.1:1/0")})
    async with run_console(settings, browser) as degraded, degraded.open("/g/down/overview") as page:
        await expect(page.get_by_role("alert")).to_contain_text("Redis or Valkey does not respond")
        await expect(page.locator(".tier-working .count dd").first).to_have_text("–")
