"""What the review inbox does with the answer to a decision: the keys go on, and the message names what was decided."""

from uuid import uuid4

from playwright.async_api import expect

from tests.browser.conftest import Console
from tests.browser.test_review import TOPICS, put_insights, said
from tests.browser.test_review_inbox import EDIT, put_sides
from tests.insights import put_insight


async def test_keys_work_after_a_refused_decision(console: Console) -> None:
    group, _ = await put_insights(console, 3)
    async with console.open(f"/g/{group}/review") as page:
        main = page.locator(".dossier > .statement")
        await page.keyboard.press("e")
        await page.locator("#edit [name=action]").evaluate("one => { one.value = 'none'; }")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#toasts [role=alert]")).to_be_visible()
        assert await page.evaluate("document.getElementById('toasts').matches(':popover-open')"), "above the dialog"
        await page.keyboard.press("Escape")
        await page.keyboard.press("j")
        await expect(main).to_have_text(TOPICS[1])
        await page.keyboard.press("p")
        await expect(main).to_have_text(TOPICS[2])


async def test_keys_work_after_a_confirmation_that_was_cancelled(console: Console) -> None:
    group = f"answers-{uuid4()}"
    hidden = TOPICS[0].replace("payment", "pay\u200bment")
    await put_insight(console.clearwell, group, TOPICS[0], [said(group, hidden)])
    async with console.open(f"/g/{group}/review") as page:
        await expect(page.locator(".dossier > .statement")).to_have_text(TOPICS[0])
        await page.keyboard.press("p")
        await expect(page.get_by_role("dialog", name="Read this before you promote it")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await page.keyboard.press("r")
        await expect(page.get_by_label("Why is it rejected?")).to_be_focused()


async def test_all_of_the_text_to_confirm_can_be_read(console: Console) -> None:
    group = f"answers-{uuid4()}"
    text = f"The pay\u200bment service {'was moved to the new cluster and ' * 60}stayed\u202e there."
    await put_insight(console.clearwell, group, text, [said(group, text)])
    async with console.open(f"/g/{group}/review", height=700) as page:
        await expect(page.locator(".dossier")).to_be_visible()
        await page.keyboard.press("p")
        dialog = page.get_by_role("dialog", name="Read this before you promote it")
        await expect(dialog).to_contain_text("stayed⟦U+202E⟧ there.")
        await dialog.get_by_text("stayed⟦U+202E⟧ there.").press("End")
        await expect(dialog.get_by_role("button", name="Promote it anyway")).to_be_in_viewport()


async def test_the_message_names_the_side_that_was_chosen(console: Console) -> None:
    group = f"answers-{uuid4()}"
    await put_sides(console, group)
    async with console.open(f"/g/{group}/review") as page:
        message = page.locator("#message")
        await expect(page.locator(".side-card")).to_have_count(2)
        await page.keyboard.press("2")
        await expect(message).to_contain_text("Promoted: “The launch is planned for the tenth of March.”")
        await page.keyboard.press("z")
        await expect(message).to_contain_text("Promotion undone: “The launch is planned for the tenth of March.”")


async def test_the_message_names_the_words_that_were_edited(console: Console) -> None:
    group, _ = await put_insights(console, 2)
    async with console.open(f"/g/{group}/review") as page:
        message = page.locator("#message")
        await page.keyboard.press("e")
        await page.get_by_label(EDIT).fill(TOPICS[0].replace("without any downtime at all", "in nine minutes"))
        await page.keyboard.press("Control+Enter")
        await expect(message).to_contain_text("Promoted: “…cluster on Monday in nine minutes.”")
        await page.keyboard.press("z")
        await expect(message).to_contain_text("Promotion undone: “…cluster on Monday in nine minutes.”")
