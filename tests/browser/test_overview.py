"""The overview in a browser: counts that follow the events, and the switches of every page."""

import asyncio
from datetime import UTC, datetime
from itertools import count
from uuid import uuid4

from playwright.async_api import Browser, Route, expect
from pydantic import SecretStr

from clearwell.adapters.http.console.overview import describe_workers
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
        await expect(page.get_by_role("heading", name="This group is empty")).to_have_count(0)
        memories = page.locator(".tier-longterm .count dd").first
        await expect(memories).not_to_have_text("0", timeout=90_000)
        await expect(page.locator(".chart canvas")).to_have_count(3, timeout=90_000)
        await expect(page.get_by_text("The demo has ended. It decided on its insights itself")).to_be_visible(
            timeout=90_000
        )
        await page.get_by_role("link", name="meeting 3").click()
        await expect(page.locator(".bubble").first).to_be_visible()
        assert "session=" in page.url


async def test_charts_follow_the_events_and_their_tables_fit(console: Console) -> None:
    group = f"charts-{uuid4()}"
    async with console.open(f"/g/{group}/overview") as page:
        await expect(page.locator(".live")).to_have_text("live")
        await expect(page.locator(".chart")).to_have_count(0)
        await console.memory.capture(say(group, SAID), wait=True)
        await expect(page.locator(".chart canvas")).to_have_count(1)
        await expect(page.get_by_text("No insight was decided in the last 30 days.")).to_be_visible()
        await page.locator("[data-table=flow] summary").click()
        await console.memory.capture(say(group, "A guess that nobody has looked into yet, as far as known.", 0.2))
        await expect(page.locator(".chart canvas")).to_have_count(2)
        await expect(page.locator("[data-table=flow]")).to_have_attribute("open", "")
        await page.set_viewport_size({"width": 1180, "height": 800})  # draws the charts again
        for card in await page.locator(".charts > .card").all():
            outer = await card.bounding_box()
            for part in await card.locator(".chart canvas, .table-wrap").all():
                inner = await part.bounding_box()
                assert outer is not None
                assert inner is None or inner["x"] + inner["width"] <= outer["x"] + outer["width"]


async def test_charts_follow_the_counts_when_events_are_missed(console_settings: Settings, browser: Browser) -> None:
    group = f"charts-{uuid4()}"
    async with run_console(console_settings, browser) as missed, missed.open(f"/g/{group}/overview") as page:
        await expect(page.locator(".live")).to_have_text("live")
        missed.clearwell.feed.close()
        await expect(page.locator(".live.lost")).to_be_visible()
        await missed.memory.capture(say(group, SAID), wait=True)
        await expect(page.locator(".chart canvas")).to_have_count(0)
        await page.evaluate("htmx.ajax('GET', location.pathname, '#counts')")  # as the page does every 30 s
        await expect(page.locator(".chart canvas")).to_have_count(1)


async def test_the_charts_of_whole_numbers_have_whole_ticks(console: Console) -> None:
    group = f"charts-{uuid4()}"
    await console.memory.capture(say(group, SAID), wait=True)
    async with console.open(f"/g/{group}/overview") as page:
        await page.evaluate(
            "() => { const fill = CanvasRenderingContext2D.prototype.fillText; window.drawn = [];"
            "CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {"
            "window.drawn.push(text); return fill.call(this, text, ...rest); }; }"
        )
        await expect(page.locator(".chart canvas")).to_have_count(1)
        await page.set_viewport_size({"width": 1180, "height": 800})  # draws the charts again
        await page.wait_for_function("window.drawn.includes('1')")
        assert not [text for text in await page.evaluate("window.drawn") if "." in text]


async def test_the_legend_of_a_chart_shows_the_last_day(console: Console) -> None:
    group = f"charts-{uuid4()}"
    await console.memory.capture(say(group, SAID), wait=True)
    async with console.open(f"/g/{group}/overview") as page:
        day = page.locator(".chart .u-legend .u-value").first
        await expect(day).to_have_text(f"{datetime.now(UTC):%b %-d}")
        await page.locator(".chart .u-over").hover(position={"x": 5, "y": 50})
        await expect(day).not_to_have_text(f"{datetime.now(UTC):%b %-d}")
        await page.get_by_role("heading", level=1).hover()
        await expect(day).to_have_text(f"{datetime.now(UTC):%b %-d}")


async def test_the_health_of_every_part_is_shown_also_when_all_is_well(console: Console) -> None:
    async with console.open("/g/healthy/overview") as page:
        health = page.locator(".health")
        await expect(health.locator("#health-database")).to_have_text("PostgreSQL responds")
        await expect(health.locator("#health-working_memory")).to_have_text("Redis or Valkey responds")
        await expect(health.locator("#health-embedder")).to_contain_text("responds")
        await expect(health.locator("#health-worker")).to_contain_text("1 worker running")
        await expect(health.locator("#health-judge")).to_have_count(0)
        await expect(page.locator("pre.command")).not_to_contain_text("Authorization")


async def test_models_are_named_and_a_missing_worker_is_explained(console_settings: Settings, browser: Browser) -> None:
    models = {"judge_base_url": "http://127.0.0.1:1/v1", "judge_model": "judge-1"}
    models |= {"digest_llm_base_url": "http://127.0.0.1:1/v1", "digest_llm_model": "writer-1"}
    settings = console_settings.model_copy(update=models)
    async with run_console(settings, browser) as running, running.open("/g/models/overview") as page:
        await expect(page.locator("#health-judge")).to_contain_text("judge-1: configured, asked only when needed")
        await expect(page.locator("#health-writer")).to_contain_text("writer-1: configured")
    parts = describe_workers(0), describe_workers(None), describe_workers(2)
    assert [part.state for part in parts] == ["down", "unknown", "up"]


async def test_a_page_that_loses_its_events_says_since_when(console_settings: Settings, browser: Browser) -> None:
    async with run_console(console_settings, browser) as lost, lost.open("/g/lost/overview") as page:
        await expect(page.locator(".live")).to_have_text("live")
        lost.clearwell.feed.close()
        await expect(page.locator(".live.lost")).to_contain_text("not live since")


async def test_a_page_that_is_live_again_shows_what_it_missed(console: Console) -> None:
    group, happened = f"missed-{uuid4()}", asyncio.Event()
    streams = count()

    async def stream(route: Route) -> None:
        """A stream that is lost at once, and after something has happened another one, which does not tell it."""
        if next(streams):
            await happened.wait()
        body = "retry: 50\nevent: subscribed\ndata: {}\n\n"
        await route.fulfill(body=body, content_type="text/event-stream")

    await console.memory.capture(say(group, SAID), wait=True)
    async with console.open("/") as page:
        await page.route("**/events?*", stream)
        await page.goto(f"/g/{group}/overview")
        working = page.locator(".tier-working .count").first
        await expect(page.locator(".live.lost")).to_be_visible()
        await expect(working).to_have_text("entries now1")
        await console.memory.capture(say(group, SAID_NEXT), wait=True)
        happened.set()
        await expect(working).to_have_text("entries now2")


async def test_a_part_that_is_down_is_named_in_plain_words(console_settings: Settings, browser: Browser) -> None:
    settings = console_settings.model_copy(update={"redis_url": SecretStr("redis://127.0.0.1:1/0")})
    async with run_console(settings, browser) as degraded, degraded.open("/g/down/overview") as page:
        await expect(page.get_by_role("alert")).to_contain_text("Redis or Valkey does not respond")
        await expect(page.locator(".tier-working .count dd").first).to_have_text("–")
        await expect(page.locator(".tier-working .count dd").last).to_have_text("–")
        await expect(page.locator(".tier-working")).to_contain_text("Unknown: Redis or Valkey does not respond.")
        await expect(page.locator("#health-working_memory")).to_contain_text("does not respond")
        await expect(page.locator("#health-worker")).to_contain_text("unknown")
        await expect(page.locator("#health-database")).to_contain_text("responds")
