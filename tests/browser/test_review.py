"""The review inbox in a browser: a whole review by keys, sides, undo, bulk, and two reviewers at once."""

from uuid import UUID, uuid4

import psycopg
from playwright.async_api import Page, expect
from psycopg.types.json import Jsonb

from clearwell.records import InsightState, NewCapture, Principal
from tests.browser.conftest import Console
from tests.insights import put_insight

TOPICS = (
    "The payment service was moved to the new cluster on Monday without any downtime at all.",
    "Nightly backups of the billing database now take eleven minutes instead of forty minutes.",
    "The search index is rebuilt every night at two and takes twenty minutes on the new machines.",
    "The contract with the logistics partner ends on the last day of June without renewal.",
    "Customers in the north wait forty seconds for an answer of the service desk on weekends.",
    "The data center in Ningbo has two independent power lines since the renovation in May.",
    "Every mobile release is tested on six devices before it is sent to the stores.",
    "The fraud model is trained again each Sunday with the transactions of ninety days.",
    "Invoices above ten thousand euros need the approval of two people from finance.",
    "The warehouse in Hamburg counts its stock with drones in the first week of a quarter.",
)
ANN = Principal.local("ann")


def said(group: str, content: str, agent: str = "scout") -> NewCapture:
    return NewCapture(
        content=content, group_id=group, session_id="s1", node_id="n1", agent_id=agent, metadata={"confidence": 0.9}
    )


async def put_insights(console: Console, count: int) -> tuple[str, list[UUID]]:
    """A group with this many pending insights, and their ids in the order of the list."""
    group, digest = f"review-{uuid4()}", uuid4()
    made = [
        await put_insight(
            console.clearwell, group, text, [said(group, text)], digest_id=digest, position=number, flags=()
        )
        for number, text in enumerate(TOPICS[:count])
    ]
    return group, made


async def count_pending(console: Console, group: str) -> int:
    return len(await console.memory.review.insights(group=group, state=InsightState.PENDING))


def statement(page: Page, text: str) -> object:
    return expect(page.locator(".dossier > .statement")).to_have_text(text)


async def test_ten_insights_take_ten_keys(console: Console) -> None:
    group, _ = await put_insights(console, 10)
    async with console.open(f"/g/{group}/review") as page:
        for text in TOPICS:
            await expect(page.locator(".dossier > .statement")).to_have_text(text)
            await page.keyboard.press("p")
        await expect(page.get_by_role("heading", name="All done")).to_be_visible()
        await expect(page.locator("[data-done]")).to_contain_text("The next digest comes on")
    assert await count_pending(console, group) == 0
    assert len((await console.memory.retrieve("payment service cluster", group=group)).items) > 0


async def test_every_decision_has_its_key(console: Console) -> None:
    group, ids = await put_insights(console, 5)
    shown = "The search index is rebuilt at two."
    async with console.open(f"/g/{group}/review") as page:
        main = page.locator(".dossier > .statement")
        await expect(main).to_have_text(TOPICS[0])
        await page.keyboard.press("j")
        await expect(main).to_have_text(TOPICS[1])
        await page.keyboard.press("j")
        await expect(main).to_have_text(TOPICS[2])
        await page.keyboard.press("k")
        await expect(main).to_have_text(TOPICS[1])
        await page.keyboard.press("r")
        await page.get_by_label("Why is it rejected?").fill("Measured on one day only")
        await page.keyboard.press("Enter")
        await expect(main).to_have_text(TOPICS[2])
        await page.keyboard.press("e")
        await page.get_by_label("The text that becomes a memory").fill(shown)
        await page.locator("#edit").get_by_role("button", name="Promote").click()
        await expect(main).to_have_text(TOPICS[3])
        await page.keyboard.press("s")
        await expect(main).to_have_text(TOPICS[4])
        await page.keyboard.press("k")
        await expect(main).to_have_text(TOPICS[0])
        await page.keyboard.press("m")
        await page.locator("#merge li", has_text=TOPICS[4]).get_by_role("checkbox").check()
        await page.locator("#merge").get_by_role("button", name="Merge").click()
        await expect(page.locator(".sources").first.locator("li")).to_have_count(2)
        await page.keyboard.press("?")
        await expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.keyboard.press("/")
        await expect(page.get_by_label("Search statements")).to_be_focused()
    states = [(await console.memory.review.insight(one, group=group)).insight.state for one in ids]
    assert states == ["pending", "rejected", "promoted", "snoozed", "merged"]
    found = await console.memory.retrieve("search index", group=group)
    assert shown in [item.content for item in found.items]


async def test_a_decision_is_undone_from_its_message_and_after_a_reload(console: Console) -> None:
    group, _ = await put_insights(console, 3)
    async with console.open(f"/g/{group}/review") as page:
        main = page.locator(".dossier > .statement")
        await expect(main).to_have_text(TOPICS[0])
        await page.keyboard.press("p")
        await expect(main).to_have_text(TOPICS[1])
        await page.keyboard.press("z")
        await expect(main).to_have_text(TOPICS[0])
        assert await count_pending(console, group) == 3
        await page.keyboard.press("p")
        await expect(main).to_have_text(TOPICS[1])
        await page.reload()
        await expect(main).to_have_text(TOPICS[1])
        await page.keyboard.press("z")
        await expect(main).to_have_text(TOPICS[0])
    assert await count_pending(console, group) == 3


async def test_many_are_decided_after_a_preview_and_undone_together(console: Console) -> None:
    group, _ = await put_insights(console, 4)
    async with console.open(f"/g/{group}/review") as page:
        main = page.locator(".dossier > .statement")
        await expect(main).to_have_text(TOPICS[0])
        for text in TOPICS[1:4]:
            await page.keyboard.press("x")
            await page.keyboard.press("j")
            await expect(main).to_have_text(text)
        await expect(page.locator("[data-bulk]")).to_contain_text("3 selected")
        await page.locator("[data-bulk]").get_by_role("button", name="Promote").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("3 insights will become memories")
        assert await count_pending(console, group) == 4, "a preview changes nothing"
        await dialog.get_by_role("button", name="Promote").click()
        await expect(page.locator("#message")).to_contain_text("Promoted: 3.")
        await expect(main).to_have_text(TOPICS[3])
        assert await count_pending(console, group) == 1
        await page.keyboard.press("z")
        await expect(page.locator("#message")).to_contain_text("Decisions undone: 3.")
    assert await count_pending(console, group) == 4


async def test_a_source_opens_with_its_sentence_highlighted(console: Console) -> None:
    group = f"source-{uuid4()}"
    before = "# Report of the week\n\nA ✅ Verified <script>alert(1)</script> introduction.\n\n"
    whole = f"{before}{TOPICS[0]}\n\n**Decision:** more follows."
    insight = await put_insight(console.clearwell, group, TOPICS[0], [said(group, whole)])
    await set_span(console, insight, len(before), len(before) + len(TOPICS[0]))
    async with console.open(f"/g/{group}/review") as page:
        await page.get_by_role("button", name="Whole output").click()
        await expect(page.locator("dialog mark")).to_have_text(TOPICS[0])
        await expect(page.locator("dialog .output")).to_contain_text("<script>alert(1)</script>")
        await expect(page.locator("dialog .output .badge")).to_have_count(0)
        await expect(page.locator("dialog .output")).to_contain_text("Decision: more follows.")
        await expect(page.locator("dialog .output")).not_to_contain_text("# Report")


async def set_span(console: Console, insight: UUID, start: int, end: int, statement: str = TOPICS[0]) -> None:
    assert console.clearwell.settings.database_url is not None
    url = console.clearwell.settings.database_url.get_secret_value()
    async with await psycopg.AsyncConnection.connect(url) as owner:
        await owner.execute(
            "UPDATE insight_sources SET statement = %s, span_start = %s, span_end = %s WHERE insight_id = %s",
            (statement, start, end, insight),
        )


async def test_two_reviewers_do_not_decide_on_the_same_insight_unknowingly(console: Console) -> None:
    group, ids = await put_insights(console, 2)
    ann = console.clearwell.memory.acting_as(ANN).review
    async with console.open(f"/g/{group}/review") as page:
        main = page.locator(".dossier > .statement")
        await expect(main).to_have_text(TOPICS[0])
        await page.evaluate("document.querySelector('[data-live]').remove()")
        await ann.reject(ids[0], group=group, reason="Not true")
        await expect(page.locator("#changes")).to_contain_text("ann has decided on it meanwhile")
        await page.keyboard.press("p")
        await expect(page.locator(".unsent")).to_contain_text("ann decided before you (reject)")
        await expect(page.locator(".dossier > .notice").first).to_contain_text("ann")
    assert (await console.memory.review.insight(ids[0], group=group)).insight.state is InsightState.REJECTED


async def test_filters_are_in_the_address_and_the_place_is_kept(console: Console) -> None:
    group, ids = await put_insights(console, 4)
    async with console.open(f"/g/{group}/review") as page:
        main = page.locator(".dossier > .statement")
        await page.get_by_label("Search statements").fill("backups")
        await expect(page.locator(".insight-list li")).to_have_count(1)
        assert "q=backups" in page.url
        await page.reload()
        await expect(page.locator(".insight-list li")).to_have_count(1)
        await page.goto(f"/g/{group}/review?at={ids[2]}")
        await expect(main).to_have_text(TOPICS[2])
        await page.goto(f"/g/{group}/overview")
        await page.goto(f"/g/{group}/review")
        await expect(main).to_have_text(TOPICS[2])


async def test_a_contradiction_is_decided_by_choosing_a_side(console: Console) -> None:
    group = f"sides-{uuid4()}"
    third, tenth = "The launch is planned for the third of March.", "The launch is planned for the tenth of March."
    logs = [
        (await console.memory.capture(said(group, text, agent), wait=True)).id
        for text, agent in ((third, "scout"), (tenth, "auditor"))
    ]
    insight = await put_insight(console.clearwell, group, f"{third} / {tenth}", logs, flags=["contradiction"])
    await set_sides(console, insight, [(third, logs[0]), (tenth, logs[1])])
    async with console.open(f"/g/{group}/review", language="zh-CN") as page:
        await expect(page.get_by_role("heading", name="来源互相矛盾，哪一方正确？")).to_be_visible()
        await page.keyboard.press("p")
        await expect(page.locator(".side-card")).to_have_count(2)
        await page.keyboard.press("2")
        await expect(page.get_by_role("heading", name="全部处理完毕")).to_be_visible()
    found = await console.memory.retrieve("When is the launch?", group=group)
    assert [item.content for item in found.items if item.source == "cold"] == [tenth]


async def set_sides(console: Console, insight: UUID, sides: list[tuple[str, UUID]], *more: tuple[UUID, int]) -> None:
    """Give an insight these sides, each of one output, and of ``more`` outputs that are on the side of a number."""
    assert console.clearwell.settings.database_url is not None
    url = console.clearwell.settings.database_url.get_secret_value()
    support = {"agents": 1, "sessions": 1, "days": 1, "rows": 1}
    value = [
        {
            "statement": text,
            "log_ids": [str(one) for one in (log_id, *(also for also, side in more if side == number))],
            "support": support,
        }
        for number, (text, log_id) in enumerate(sides)
    ]
    async with await psycopg.AsyncConnection.connect(url) as owner:
        await owner.execute("UPDATE insights SET sides = %s WHERE id = %s", (Jsonb(value), insight))


async def test_hidden_text_is_promoted_only_after_a_visible_confirmation(console: Console) -> None:
    group = f"review-{uuid4()}"
    hidden = TOPICS[0].replace("payment", "pay\u200bment")
    await put_insight(console.clearwell, group, TOPICS[0], [said(group, hidden)])
    async with console.open(f"/g/{group}/review") as page:
        await expect(page.locator(".dossier > .statement")).to_have_text(TOPICS[0])
        await page.keyboard.press("p")
        dialog = page.get_by_role("dialog", name="Read this before you promote it")
        await expect(dialog).to_contain_text("pay⟦U+200B⟧ment")
        await dialog.get_by_role("button", name="Promote it anyway").click()
        assert await count_pending(console, group) == 1, "the box is required"
        await dialog.get_by_role("checkbox").check()
        await dialog.get_by_role("button", name="Promote it anyway").click()
        await expect(page.get_by_role("heading", name="All done")).to_be_visible()
        await expect(page.get_by_role("dialog")).to_have_count(0)
    (item,) = (await console.memory.retrieve("payment service", group=group)).items
    assert (item.content, item.flags) == (TOPICS[0], ("hidden_text",))


async def test_hidden_text_among_many_is_opened_from_the_message(console: Console) -> None:
    group, digest = f"review-{uuid4()}", uuid4()
    texts = (TOPICS[1], TOPICS[0].replace("payment", "pay\u200bment"))
    for position, text in enumerate(texts):
        made = [said(group, text)]
        await put_insight(console.clearwell, group, text, made, digest_id=digest, position=position)
    async with console.open(f"/g/{group}/review") as page:
        await expect(page.locator(".insight-list li")).to_have_count(2)
        for box in await page.locator(".insight-list").get_by_role("checkbox").all():
            await box.check()
        await page.locator("[data-bulk]").get_by_role("button", name="Promote").click()
        await page.get_by_role("dialog").get_by_role("button", name="Promote").click()
        toast = page.locator(".toast")
        await expect(toast).to_contain_text("hides characters or text from its reader")
        for word in ("acknowledge", "keep_invisible"):
            await expect(toast).not_to_contain_text(word)
        await expect(page.locator("#insights")).to_contain_text("1 insight")
        await toast.get_by_role("link", name="Open the insight").click()
        await page.locator("#promote").get_by_role("button").click()
        await expect(page.get_by_role("dialog")).to_contain_text("pay⟦U+200B⟧ment")


async def test_hidden_text_of_an_output_is_confirmed_on_a_page(console: Console) -> None:
    group = f"review-{uuid4()}"
    row = await console.memory.capture(said(group, TOPICS[1].replace("billing", "bill\u200bing")), wait=True)
    async with console.open(f"/g/{group}/quarantine/{row.id}") as page:
        await page.locator("summary", has_text="Promote").click()
        await page.get_by_role("button", name="Promote").click()
        await expect(page.get_by_role("heading", name="Read this before you promote it")).to_be_visible()
        await expect(page.locator(".notice-warn")).to_contain_text("bill⟦U+200B⟧ing")
        await page.get_by_role("checkbox").check()
        await page.get_by_role("button", name="Promote it anyway").click()
        await expect(page.locator(".badge-verified").first).to_be_visible()
    items = (await console.memory.retrieve("billing database backups", group=group)).items
    assert [item.content for item in items if item.verified] == [TOPICS[1]]


async def test_the_open_insight_stays_in_view_on_a_phone(console: Console) -> None:
    group, ids = await put_insights(console, 10)
    async with console.open(f"/g/{group}/review?at={ids[9]}", width=390) as page:
        await expect(page.locator(".insight-list .current")).to_have_count(1)
        await expect(page.locator(".dossier > .statement")).to_be_in_viewport()
        assert await page.evaluate("[scrollY, document.querySelector('.insight-list').scrollTop > 0]") == [0, True]


async def test_typing_into_the_group_switcher_decides_nothing(console: Console) -> None:
    group, _ = await put_insights(console, 2)
    async with console.open(f"/g/{group}/review") as page:
        await expect(page.locator(".dossier > .statement")).to_have_text(TOPICS[0])
        await page.locator(".switcher > summary").click()
        search = page.get_by_role("searchbox", name="Find a group")
        await expect(search).to_be_focused()
        await page.keyboard.type("per")
        await expect(search).to_have_value("per")
        await page.locator(".switcher > summary").focus()
        await page.keyboard.press("p")
        await page.keyboard.press("e")
        await expect(page.locator("dialog[open]")).to_have_count(0)
        await page.keyboard.press("Escape")
        await page.locator(".switcher > summary").click()
        await expect(search).to_be_focused()
        await expect(page.locator(".dossier > .statement")).to_have_text(TOPICS[0])
    assert await count_pending(console, group) == 2
