"""How the review inbox reads and what it keeps: text that flows, one message, drafts, selections, hints and flags."""

from uuid import UUID, uuid4

from playwright.async_api import expect

from tests.browser.conftest import Console
from tests.browser.test_review import TOPICS, count_pending, put_insights, said, set_sides, set_span
from tests.insights import put_insight

EDIT = "The text that becomes a memory"
LINES = """one => {
  const range = document.createRange();
  range.selectNodeContents(one);
  return new Set([...range.getClientRects()].map((box) => Math.round(box.bottom / 12))).size;
}"""
"""How many lines a text takes, to within marks of another size."""
COVERED = """() => {
  const buttons = [...document.querySelectorAll("main button, main a.button, main summary")].filter((one) => {
    const box = one.getBoundingClientRect();
    return one.checkVisibility() && box.top >= 0 && box.bottom <= innerHeight && !one.closest("[data-bulk]");
  });
  return buttons.filter((one) => {
    const box = one.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return top && !one.contains(top) && !top.closest(".decide, .top");
  }).map((one) => one.textContent);
}"""
"""The buttons that something else lies upon."""


async def put_sides(console: Console, group: str) -> UUID:
    third, tenth = "The launch is planned for the third of March.", "The launch is planned for the tenth of March."
    logs = [
        (await console.memory.capture(said(group, text, agent), wait=True)).id
        for text, agent in ((third, "scout"), (tenth, "auditor"))
    ]
    insight = await put_insight(console.clearwell, group, f"{third} / {tenth}", logs, flags=["contradiction"])
    await set_sides(console, insight, [(third, logs[0]), (tenth, logs[1])])
    return insight


async def test_hidden_characters_and_marks_flow_with_their_text(console: Console) -> None:
    group = f"inbox-{uuid4()}"
    text = "The \u200bgate ✅ opens\u202e at nine."
    await put_insight(console.clearwell, group, text, [said(group, text)])
    async with console.open(f"/g/{group}/review") as page:
        for place in (".dossier > .statement", ".sources .agent-text", ".insight-text"):
            assert await page.locator(place).first.evaluate(LINES) <= 2, place
        await page.keyboard.press("p")
        shown = page.get_by_role("dialog").locator(".notice-warn").first
        await expect(shown).to_contain_text("⟦U+200B⟧")
        assert await shown.evaluate(LINES) <= 2


async def test_formulas_are_drawn_in_statement_and_sources(console: Console) -> None:
    group = f"inbox-{uuid4()}"
    text = r"The load is $E = m c^2$ and **never** $5 or $6. $$\sum_{i} x_i$$"
    await put_insight(console.clearwell, group, text, [said(group, text)])
    async with console.open(f"/g/{group}/review") as page:
        for place in (".dossier > .statement", ".sources .agent-text"):
            await expect(page.locator(f"{place} .katex-html")).to_have_count(2)
            await expect(page.locator(f"{place} .katex-display")).to_have_count(1)
            await expect(page.locator(place)).to_contain_text("$5 or $6.")
        await page.get_by_role("button", name="Whole output").click()
        await expect(page.locator("dialog .output .katex-html")).to_have_count(2)


async def test_decisions_share_one_message_that_covers_no_button(console: Console) -> None:
    group, _ = await put_insights(console, 10)
    async with console.open(f"/g/{group}/review", height=900) as page:
        for text in TOPICS[:9]:
            await expect(page.locator(".dossier > .statement")).to_have_text(text)
            await page.keyboard.press("p")
        await expect(page.locator(".dossier > .statement")).to_have_text(TOPICS[9])
        await expect(page.locator("[data-toast]")).to_have_count(1)
        await expect(page.locator("#message")).to_contain_text(f"Promoted: “{TOPICS[8][:40]}")
        await expect(page.locator("#message")).to_contain_text("Decided so far: 9")
        assert await page.evaluate(COVERED) == []
        await page.keyboard.press("z")
        await expect(page.locator(".dossier > .statement")).to_have_text(TOPICS[8])
        await expect(page.locator("#message")).to_contain_text(f"Promotion undone: “{TOPICS[8][:40]}")
        await expect(page.locator("#message")).to_contain_text("Decided so far: 8")
        for _ in range(2):
            await page.keyboard.press("r")
            await page.locator("#reject").get_by_role("button", name="Outdated").click()
            await page.keyboard.press("Enter")
            await expect(page.locator("dialog[open]")).to_have_count(0)
        await expect(page.get_by_role("heading", name="All done")).to_be_visible()
        await expect(page.locator("#message")).to_contain_text("Rejected: “")
        assert await page.evaluate(COVERED) == []


async def test_a_reload_keeps_a_draft_and_the_selection(console: Console) -> None:
    group, _ = await put_insights(console, 3)
    async with console.open(f"/g/{group}/review") as page:
        field, bulk = page.get_by_label(EDIT), page.locator("[data-bulk]")
        await page.keyboard.press("x")
        await page.keyboard.press("e")
        await page.keyboard.type(" Since May.")
        await expect(field).to_have_value(f"{TOPICS[0]} Since May.")
        await page.reload()
        await expect(bulk).to_contain_text("1 selected")
        await page.keyboard.press("e")
        await expect(field).to_have_value(f"{TOPICS[0]} Since May.")
        await page.keyboard.press("Escape")
        await expect(field).to_be_hidden()
        await page.keyboard.press("e")
        await expect(field).to_have_value(f"{TOPICS[0]} Since May.")
        await page.locator("#edit").get_by_role("button", name="Cancel").click()
        await page.keyboard.press("e")
        await expect(field).to_have_value(TOPICS[0])
        await expect(field).to_be_focused()
        await page.keyboard.type(" Since June.")
        await page.locator("#edit").get_by_role("button", name="Promote").click()
        await expect(page.locator(".dossier > .statement")).to_have_text(TOPICS[1])
        assert await page.evaluate("Object.keys(sessionStorage).filter((key) => key.includes('draft'))") == []
        await expect(bulk).to_be_hidden()
    found = await console.memory.retrieve("payment service", group=group)
    assert f"{TOPICS[0]} Since June." in [item.content for item in found.items]


async def test_a_reload_keeps_a_reason_and_what_is_to_be_merged(console: Console) -> None:
    group, _ = await put_insights(console, 3)
    async with console.open(f"/g/{group}/review") as page:
        reason, text = page.get_by_label("Why is it rejected?"), page.get_by_label("The text of the merged insight")
        other = page.locator("#merge li", has_text=TOPICS[2]).get_by_role("checkbox")
        await page.keyboard.press("r")
        await page.keyboard.type("Measured on one")
        await page.keyboard.press("Escape")
        await page.keyboard.press("m")
        await other.check()
        await text.fill("Both were moved")
        await page.reload()
        await expect(page.locator("[data-draft-note=reject]")).to_be_visible()
        await page.keyboard.press("r")
        await expect(reason).to_have_value("Measured on one")
        await page.locator("#reject").get_by_role("button", name="Cancel").click()
        await expect(page.locator("[data-draft-note=reject]")).to_be_hidden()
        await page.keyboard.press("m")
        await expect(text).to_have_value("Both were moved")
        await expect(other).to_be_checked()
        await page.locator("#merge").get_by_role("button", name="Merge").click()
        await expect(page.locator(".dossier > .statement")).to_have_text("Both were moved")
        assert await page.evaluate("Object.keys(sessionStorage).filter((key) => key.includes('draft'))") == []
    assert await count_pending(console, group) == 2


async def test_a_merge_with_nothing_is_explained_in_its_dialog(console: Console) -> None:
    group, _ = await put_insights(console, 3)
    async with console.open(f"/g/{group}/review") as page:
        message = page.get_by_text("Choose at least one insight to merge.")
        await page.keyboard.press("m")
        await page.locator("#merge").get_by_role("button", name="Merge").click()
        await expect(message).to_be_visible()
        await expect(page.locator("#merge").get_by_role("checkbox").first).to_be_focused()
        await page.keyboard.press("Space")
        await expect(message).to_be_hidden()
        await page.keyboard.press("Control+Enter")
        await expect(page.locator(".sources").first.locator("li")).to_have_count(2)
        await expect(page.locator("#message")).to_contain_text("Merged: “")


async def test_the_length_of_an_edited_text_is_counted(console: Console) -> None:
    group, _ = await put_insights(console, 1)
    most = console.clearwell.settings.max_content_bytes
    async with console.open(f"/g/{group}/review") as page:
        counter = page.locator("[data-bytes]")
        await page.keyboard.press("e")
        await expect(counter).to_have_text(f"Length: {len(TOPICS[0])} of {most:,} bytes")
        await page.get_by_label(EDIT).fill("é" * (most // 2 + 1))
        await expect(counter).to_have_class("quiet fault")
        await page.keyboard.press("Control+Enter")
        await expect(page.locator("#toasts [role=alert]")).to_contain_text(str(most))
        await expect(page.get_by_label(EDIT)).to_be_visible()


async def test_what_is_half_written_is_not_passed_over(console: Console) -> None:
    group, _ = await put_insights(console, 2)
    async with console.open(f"/g/{group}/review") as page:
        field, note = page.get_by_label(EDIT), page.locator("[data-draft-note=edit]")
        await expect(note).to_be_hidden()
        await page.keyboard.press("e")
        await page.keyboard.type(" Since May.")
        await page.reload()
        await expect(note).to_have_text("not sent yet")
        await page.keyboard.press("p")
        await expect(field).to_have_value(f"{TOPICS[0]} Since May.")
        assert await count_pending(console, group) == 2
        await page.keyboard.press("Control+Enter")
        await expect(page.locator(".dossier > .statement")).to_have_text(TOPICS[1])
    found = await console.memory.retrieve("payment service", group=group)
    assert f"{TOPICS[0]} Since May." in [item.content for item in found.items]


async def test_a_filter_keeps_the_selection_and_keys_decide_on_it_after_a_preview(console: Console) -> None:
    group, _ = await put_insights(console, 3)
    async with console.open(f"/g/{group}/review") as page:
        bulk, dialog = page.locator("[data-bulk]"), page.get_by_role("dialog")
        await page.keyboard.press("x")
        await page.keyboard.press("j")
        await expect(page.locator(".dossier > .statement")).to_have_text(TOPICS[1])
        await page.keyboard.press("x")
        await page.keyboard.press("/")
        await page.keyboard.type("nothing has these words")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("No matching insights")).to_be_visible()
        await expect(bulk).to_contain_text("2 selected")
        await page.locator("main").click(position={"x": 2, "y": 2})
        await page.keyboard.press("p")
        await expect(dialog).to_contain_text("2 insights will become memories")
        await expect(dialog).to_contain_text(TOPICS[0])
        assert await count_pending(console, group) == 3, "a preview changes nothing"
        await dialog.get_by_role("button", name="Promote").click()
        await expect(page.locator("#message")).to_contain_text("Promoted: 2.")
        await expect(bulk).to_be_hidden()
    assert await count_pending(console, group) == 1


async def test_a_long_statement_is_shown_as_it_is_promoted(console: Console) -> None:
    group = f"long-{uuid4()}"
    whole = (
        f"The gate opens at nine because {'the night shift hands over its keys and ' * 8}every visitor signs the book."
    )
    log_id = (await console.memory.capture(said(group, whole), wait=True)).id
    insight = await put_insight(console.clearwell, group, f"{whole[:190]}…", [log_id])
    await set_span(console, insight, 0, len(whole), whole)
    async with console.open(f"/g/{group}/review") as page:
        await expect(page.locator(".whole")).to_contain_text(whole)
        await page.keyboard.press("e")
        await expect(page.get_by_label(EDIT)).to_have_value(whole)
        await page.keyboard.press("Escape")
        await page.keyboard.press("x")
        await page.keyboard.press("p")
        await expect(page.get_by_role("dialog")).to_contain_text(whole)
        await page.get_by_role("dialog").get_by_role("button", name="Promote").click()
        await expect(page.locator("#message")).to_contain_text("Promoted: 1.")
        await page.goto(f"{console.url}/g/{group}/quarantine/{log_id}")
        await expect(page.locator("main")).to_contain_text("Based on this output")
        await expect(page.locator("main")).to_contain_text(whole[:150])
    found = await console.memory.retrieve("When does the gate open?", group=group)
    assert [item.content for item in found.items] == [whole]


async def test_a_key_that_does_nothing_says_what_to_do(console: Console) -> None:
    group = f"inbox-{uuid4()}"
    await put_sides(console, group)
    async with console.open(f"/g/{group}/review") as page:
        message = page.locator("#message")
        await page.keyboard.press("p")
        await expect(message).to_contain_text("Choose a side with 1 / 2, keep both with b, or edit the text with e.")
        await page.keyboard.press("z")
        await expect(message).to_contain_text("There is no decision of yours to undo.")
        await expect(page.locator("[data-toast]")).to_have_count(1)
        await page.keyboard.press("/")
        await page.keyboard.type("launch")
        await page.keyboard.press("Enter")
        await expect(page.locator("#insights .current a")).to_be_focused()
        await page.keyboard.press("1")
        await expect(page.get_by_role("heading", name="No matching insights")).to_be_visible()
        await expect(page.get_by_label("Search statements")).to_have_value("launch")
    assert await count_pending(console, group) == 0


async def test_the_list_names_flags_before_anything_is_selected(console: Console) -> None:
    group = f"inbox-{uuid4()}"
    await put_sides(console, group)
    hidden = TOPICS[0].replace("payment", "pay\u200bment")
    await put_insight(console.clearwell, group, TOPICS[0], [said(group, hidden)], flags=["conflicts_verified"])
    await put_insight(console.clearwell, group, TOPICS[1], flags=["instruction_like", "claims_authority"])
    async with console.open(f"/g/{group}/review") as page:
        rows = page.locator(".insight-list li")
        await expect(rows.filter(has_text="launch").locator(".chip-warn")).to_have_text(["two sides"])
        await expect(rows.filter(has_text="payment").locator(".chip-warn")).to_have_text(
            ["contradicts a verified memory", "hidden characters"]
        )
        await expect(rows.filter(has_text="billing").locator(".chip-warn")).to_have_text(
            ["reads like an instruction", "claims authority"]
        )
        await page.get_by_label("Flag").select_option(label="hidden characters")
        await expect(rows).to_have_count(1)


async def test_the_bulk_bar_is_whole_on_a_screen_and_a_phone(console: Console) -> None:
    group, _ = await put_insights(console, 10)
    for width, height in ((1280, 900), (390, 844)):
        async with console.open(f"/g/{group}/review", width=width, height=height) as page:
            for box in await page.locator(".insight-list input").all():
                await box.check()
            bar = page.locator("[data-bulk]")
            for button in await bar.get_by_role("button").all():
                await expect(button).to_be_in_viewport(ratio=1)
            tops = await bar.locator("button").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
            assert len({*tops}) == 1, "the buttons stand in one line"
            await expect(page.locator(".decide kbd").locator("visible=true")).to_have_text(
                ["e", "m"] if width > 1000 else []
            )
            await page.evaluate("scrollTo(0, 0)")
            await page.locator(".more summary").click()
            for item in await page.locator(".more .panel button").all():
                assert await item.evaluate(LINES) == 1
                await expect(item).to_be_in_viewport(ratio=1)


async def test_a_missing_reason_is_said_below_its_field(console: Console) -> None:
    group, _ = await put_insights(console, 1)
    async with console.open(f"/g/{group}/review") as page:
        await page.keyboard.press("r")
        await page.keyboard.press("Enter")
        message = page.get_by_text("Write why it is rejected.")
        await expect(message).to_be_visible()
        await expect(page.get_by_label("Why is it rejected?")).to_be_focused()
        await page.get_by_role("button", name="Outdated").click()
        await expect(message).to_be_hidden()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", name="All done")).to_be_visible()


async def test_the_inbox_has_the_name_of_the_protocol(console: Console) -> None:
    group, _ = await put_insights(console, 1)
    for language, name in (("en-US", "📚 Knowledge digest"), ("zh-CN", "📚 知识简报")):
        async with console.open(f"/g/{group}/review", language=language) as page:
            await expect(page.get_by_role("heading", level=1)).to_have_text(name)


async def test_a_source_opens_at_its_highlighted_sentence(console: Console) -> None:
    group, text = f"inbox-{uuid4()}", "\n\n".join([*TOPICS[1:]] * 4 + [TOPICS[0]])
    insight = await put_insight(console.clearwell, group, TOPICS[0], [said(group, text)])
    await set_span(console, insight, len(text) - len(TOPICS[0]), len(text))
    async with console.open(f"/g/{group}/review") as page:
        await page.get_by_role("button", name="Whole output").click()
        await expect(page.locator("dialog mark")).to_be_in_viewport(ratio=1)
