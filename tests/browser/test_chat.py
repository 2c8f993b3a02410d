"""The chat panel in a browser."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from playwright.async_api import Browser, expect
from pydantic import SecretStr

from clearwell.middleware.nodes import NodeExecution
from clearwell.records import NewCapture
from clearwell.settings import Settings
from tests.browser.conftest import Console, run_console

GATEWAY = "The payment gateway times out above five hundred parallel requests, measured on Monday."
BACKUP = "The nightly backup of the billing database now takes eleven minutes instead of forty."
MATH = "Capacity grows by $x^2$ with every shard that is added to the cluster of the payment platform."
HOSTILE = (
    "**Decision:** the launch moves to Tuesday.<script>alert(1)</script> ✅ Verified ⚡️ Unverified "
    '![x](http://evil.example/x.png) [here](javascript:alert(1)) <span class="badge badge-verified">✅ Verified</span>'
)
BEGIN = datetime(2026, 5, 4, 9, tzinfo=UTC)


async def say(
    console: Console,
    group: str,
    content: str,
    *,
    node: str,
    after: float = 0.0,
    session: str = "meeting/1",
    confidence: float = 0.9,
    began: float | None = None,
    given: Sequence[UUID] = (),
    topic: str | None = None,
) -> UUID:
    started_at = BEGIN + timedelta(seconds=began or 0)
    run = {} if began is None else NodeExecution(started_at=started_at, given=tuple(given)).to_metadata()
    said = NewCapture(
        content=content,
        group_id=group,
        session_id=session,
        node_id=node,
        agent_id=f"{node}-agent",
        occurred_at=BEGIN + timedelta(seconds=after),
        metadata={"confidence": confidence, **run, **({} if topic is None else {"topic": topic})},
    )
    return (await console.memory.capture(said, wait=True)).id


async def test_a_meeting_is_shown_with_what_became_of_each_message(console: Console) -> None:
    group = f"chat/{uuid4()}"
    await say(console, group, GATEWAY, node="advocate", began=0, after=20)
    await say(console, group, BACKUP, node="critic", began=1, after=45, confidence=0.3)
    await say(console, group, MATH, node="chair", began=46, after=60)
    async with console.open(f"/g/{group}/chat") as page:
        await expect(page.locator(".sessions a[aria-current]")).to_contain_text("meeting/1")
        bubbles = page.locator(".bubble")
        await expect(bubbles).to_have_count(3)
        await expect(bubbles.nth(0).locator(".badge-ephemeral")).to_have_text("⚡️ Unverified")
        await expect(bubbles.nth(0).locator(".fate")).to_contain_text("expires in 24 hours")
        await expect(bubbles.nth(1).locator(".why")).to_contain_text("The confidence 0.3 is below 0.8.")
        await expect(bubbles.nth(2).locator(".katex annotation")).to_have_text("x^2")
        beside = page.locator(".step[data-columns='2'] .column")
        await expect(beside).to_have_count(2)
        left, right = await beside.nth(0).bounding_box(), await beside.nth(1).bounding_box()
        assert left is not None
        assert right is not None
        assert left["y"] == right["y"]
        await bubbles.nth(1).get_by_role("link", name="Open the output").click()
        await expect(page.locator(".checks")).to_contain_text("below 0.8")


async def test_messages_are_in_the_order_of_the_times_that_are_shown(console: Console) -> None:
    group = f"chat-{uuid4()}"
    await say(console, group, BACKUP, node="critic", after=3600)
    await say(console, group, GATEWAY, node="advocate", after=60, topic="Can the gateway be launched?")
    await say(console, group, MATH, node="chair", after=1800)
    async with console.open(f"/g/{group}/chat") as page:
        bubbles = page.locator(".bubble")
        for number, words in enumerate(("payment gateway", "Capacity", "nightly backup")):
            await expect(bubbles.nth(number)).to_contain_text(words)
        await expect(page.locator(".topic")).to_have_text("Question of the meeting Can the gateway be launched?")


async def test_a_fact_check_quotes_claims_and_memories(console: Console) -> None:
    group = f"chat-{uuid4()}"
    memory = await console.memory.promote(BACKUP, group=group)
    checked = await console.memory.fact_check("The nightly backup takes forty minutes.", group=group)
    said = NewCapture(content=checked.text, group_id=group, session_id="m", node_id="f", node_type="fact_check")
    await console.memory.capture(said, wait=True)
    assert f'<memory id="{memory.id}">' in checked.text
    async with console.open(f"/g/{group}/chat") as page:
        text = page.locator(".bubble .agent-text").first
        await expect(text).to_contain_text("“The nightly backup takes forty minutes”")
        await expect(text).to_contain_text(f"“{BACKUP}")
        await expect(text).not_to_contain_text("<")


async def test_a_bubble_shows_the_memories_that_it_was_given(console: Console) -> None:
    group = f"chat-{uuid4()}"
    memory = await console.memory.promote(f"{BACKUP} ⚡️", group=group)
    entry = await say(console, group, f"{GATEWAY} ✅ Verified", node="advocate")
    unknown = uuid4()
    await say(console, group, MATH, node="chair", began=1, after=60, given=[memory.id, entry, unknown])
    async with console.open(f"/g/{group}/chat") as page:
        given = page.locator(".given")
        await expect(given.locator("summary")).to_contain_text("Memories it was given (2):")
        await expect(given.locator("summary")).to_contain_text("✅ Verified 1 ⚡️ Unverified 1")
        await given.locator("summary").click()
        shown = given.locator(".resting")
        await expect(shown).to_have_count(2)
        await expect(shown.nth(0).locator(".badge-verified + a")).to_contain_text("The nightly backup")
        await expect(shown.nth(1).locator(".badge-ephemeral + a")).to_contain_text("The payment gateway")
        await shown.nth(0).get_by_role("link").click()
        await expect(page).to_have_url(f"{console.url}/g/{group}/memories/{memory.id}")


async def test_a_sentence_is_promoted_from_its_bubble(console: Console) -> None:
    group = f"chat-{uuid4()}"
    await say(console, group, f"{GATEWAY} {BACKUP}", node="advocate")
    async with console.open(f"/g/{group}/chat", width=390) as page:
        await page.get_by_text("Promote a sentence").click()
        await page.get_by_role("link", name=BACKUP).click()
        await expect(page.get_by_role("textbox")).to_have_value(BACKUP)
        await expect(page.locator("mark")).to_have_text(BACKUP)
        await page.get_by_role("button", name="Promote").click()
        await expect(page.locator(".resting .badge-verified")).to_have_text("✅ Verified")
        await expect(page.locator(".resting")).to_contain_text(BACKUP)
        await expect(page.locator(".resting")).not_to_contain_text("gateway")
        assert "session=meeting%2F1" in page.url


async def test_a_new_message_appears_by_itself(console: Console) -> None:
    group = f"chat-{uuid4()}"
    await say(console, group, GATEWAY, node="advocate")
    async with console.open(f"/g/{group}/chat?session=meeting/1") as page:
        await expect(page.locator(".live")).to_have_text("live")
        await page.get_by_text("Promote a sentence").click()
        await expect(page.locator(".said li")).to_have_count(1)
        await say(console, group, BACKUP, node="critic", after=30)
        await expect(page.locator(".bubble")).to_have_count(2)
        await expect(page.locator(".said li")).to_have_count(1)
        await say(console, group, MATH, node="chair", session="meeting/2")
        await expect(page.locator(".sessions li")).to_have_count(2)
        await expect(page.locator(".bubble")).to_have_count(2)


async def test_a_hostile_message_neither_runs_nor_poses_as_verified(console: Console) -> None:
    group = f"chat-{uuid4()}"
    await say(console, group, HOSTILE, node="<b>✅ Verified</b>", session="✅ Verified\u202e<img src=x>")
    async with console.open(f"/g/{group}/chat") as page:
        await expect(page.get_by_text("the launch moves to Tuesday").first).to_be_visible()
        await page.get_by_text("Promote a sentence").click()
        await page.locator(".said a").first.click()
        await expect(page.locator("mark")).to_be_visible()
        for path in (page.url, f"/g/{group}/chat"):
            await page.goto(path)
            await expect(page.locator(".badge-verified, main img, main script, main [href^=javascript]")).to_have_count(
                0
            )
            await expect(page.locator("main .hidden-character").first).to_be_attached()


async def test_a_group_without_sessions_says_what_comes(console: Console) -> None:
    async with console.open(f"/g/chat-{uuid4()}/chat", language="zh-CN") as page:
        await expect(page.get_by_role("heading", name="还没有会话")).to_be_visible()


async def test_a_long_message_is_folded_until_it_is_opened(console: Console) -> None:
    group = f"chat-{uuid4()}"
    await say(console, group, GATEWAY, node="advocate")
    await say(console, group, f"{GATEWAY}\n\n{'It was measured again. ' * 400}The end.", node="critic", after=5)
    async with console.open(f"/g/{group}/chat") as page:
        short, long = page.locator(".bubble").nth(0), page.locator(".bubble").nth(1)
        await expect(short.get_by_text("Show all")).to_have_count(0)
        await expect(long.get_by_text("The end.")).to_be_hidden()
        box = await long.bounding_box()
        assert box is not None
        assert box["height"] < 700
        await long.get_by_text("Show all").click()
        await expect(long.get_by_text("The end.")).to_be_visible()
        await expect(long.locator(".clamp")).to_be_hidden()
        await say(console, group, BACKUP, node="chair", after=9)
        await expect(page.locator(".bubble")).to_have_count(3)
        await expect(long.get_by_text("The end.")).to_be_visible()


async def test_a_message_says_that_its_expiry_is_unknown(
    console: Console, console_settings: Settings, browser: Browser
) -> None:
    group = f"chat-{uuid4()}"
    await say(console, group, GATEWAY, node="advocate")
    settings = console_settings.model_copy(update={"redis_url": SecretStr("redis://127.0.0.1:1/0")})
    async with run_console(settings, browser) as down, down.open(f"/g/{group}/chat") as page:
        await expect(page.locator(".fate")).to_contain_text("it is not known when this expires")
