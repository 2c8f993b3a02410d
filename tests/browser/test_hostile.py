"""Hostile text in the review inbox: nothing runs, nothing leaves, nothing looks verified."""

from urllib.parse import quote
from uuid import uuid4

from playwright.async_api import expect

from clearwell.records import NewCapture
from tests.browser.conftest import Console
from tests.hostile import BADGES, HOSTILE, MATHEMATICS, UNICODE
from tests.insights import put_insight

LOOK = """() => ({
  pwned: window.pwned,
  foreign: document.querySelectorAll(
    ".agent-text :is(script, style, img, iframe, object, embed, form, input, button, link, meta, base, svg, [style])"
  ).length,
  badges: document.querySelectorAll(".agent-text .badge, .insight-list .badge").length,
  handlers: [...document.querySelectorAll(".agent-text *")].filter((one) => one.getAttributeNames().some(
    (name) => /^(on|hx-|data-hx|x-|@|:)/.test(name))).length,
  text: document.querySelector(".dossier > .statement")?.innerText ?? "",
  shown: document.querySelectorAll(".dossier").length,
})"""
MARKED = """() => [document.title, ...[...document.querySelectorAll("[title], [aria-label]")].flatMap(
  (one) => [one.title, one.ariaLabel || ""])].filter((text) => /[\u26a1\u2705]/.test(text))"""
"""What is shown outside of the text of the page with a mark of a badge in its colours."""
NOTHING = {"foreign": 0, "badges": 0, "handlers": 0, "shown": 1}


def test_the_list_is_long_enough() -> None:
    assert len({*HOSTILE}) >= 60


async def test_nothing_runs_leaves_or_looks_verified(console: Console) -> None:
    group, digest = f"hostile-{uuid4()}", uuid4()
    ids = [
        await put_insight(console.clearwell, group, text, digest_id=digest, position=number)
        for number, text in enumerate(HOSTILE)
    ]
    async with console.open(f"/g/{group}/review") as page:
        page.on("dialog", lambda dialog: console.faults.append(f"dialog: {dialog.message}"))
        for insight, text in zip(ids, HOSTILE, strict=True):
            await page.goto(f"/g/{group}/review?at={insight}")
            seen = await page.evaluate(LOOK)
            assert seen.pop("pwned", None) is None, text
            shown = seen.pop("text")
            assert seen == NOTHING, text
            if text in UNICODE and "combining" not in text:
                assert "⟦U+" in shown, text
            if text in BADGES:
                assert await page.locator(".dossier .badge").count() == 0, text


async def test_a_name_with_a_mark_looks_verified_nowhere(console: Console) -> None:
    group = f"✅ Verified {uuid4()}"
    names = ("✅ Verified ", "⚡️ scout of the northern data center")
    for agent in names:
        said = NewCapture(content=f"{agent} says that the gate opens at nine.", group_id=group, agent_id=agent)
        await put_insight(console.clearwell, group, said.content, [said])
    async with console.open(f"/g/{quote(group)}/review") as page:
        await expect(page.get_by_label("Agent").locator("option")).to_have_text(
            ["Any agent", "⟦U+26A1⟧ scout of the northern data center", "⟦U+2705⟧ Verified"]
        )
        await page.get_by_label("Agent").select_option(names[0])
        await expect(page.locator(".insight-list li")).to_have_count(1)
        for name in ("review", "quarantine", "chat", "audit"):
            await page.goto(f"/g/{quote(group)}/{name}")
            assert await page.evaluate(MARKED) == []


async def test_a_hostile_output_is_plain_text_in_its_dialog(console: Console) -> None:
    group = f"hostile-{uuid4()}"
    whole = "The survey of the data center in Ningbo found two independent lines.\n\n" + "\n\n".join(HOSTILE)
    source = NewCapture(content=whole, group_id=group, agent_id="<b>x</b>", session_id="\u202es")
    await put_insight(console.clearwell, group, whole, [source])
    async with console.open(f"/g/{group}/review") as page:
        await page.get_by_role("button", name="Whole output").click()
        await page.locator("dialog[open] .output").wait_for()
        seen = await page.evaluate(LOOK)
        assert seen.pop("pwned", None) is None
        assert seen.pop("text")
        assert seen == NOTHING
        assert "<script>window.pwned = 1</script>" in await page.locator("dialog[open] .output").inner_text()


async def test_a_formula_that_is_not_drawn_is_shown_as_written(console: Console) -> None:
    group = f"hostile-{uuid4()}"
    texts = (*MATHEMATICS, "$" + "{" * 5000 + "$", "$E = m c^2$")
    memory = await console.memory.promote("Formulas of the report:\n\n" + "\n\n".join(texts), group=group)
    async with console.open(f"/g/{group}/memories/{memory.id}") as page:
        await expect(page.locator(".math .katex")).to_have_count(1)
        shown = await page.locator(".math.undrawn").all_text_contents()
        assert [text.strip() for text in shown] == [text.strip("$") for text in texts[:-1]]
