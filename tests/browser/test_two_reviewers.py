"""Two reviewers at once, each signed in with a key of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page, expect

from clearwell.records import InsightState, Principal, Right
from tests.browser.conftest import Console
from tests.browser.test_review import TOPICS, count_pending, put_insights

REVIEW = frozenset({Right.REVIEW})


@asynccontextmanager
async def sign_in(console: Console, name: str, group: str) -> AsyncIterator[Page]:
    """The review inbox of a group in a browser of its own, for a person with a key of scope review."""
    keys, local = console.clearwell.keys, Principal.local("local")
    _, secret = await keys.create(name=name, rights=REVIEW, groups=frozenset({group}), by=local)
    async with console.open(f"/sign-in?next=/g/{group}/review", person=name) as page:
        await page.get_by_label("Key").fill(secret)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.locator(".live.on")).to_be_visible()
        yield page


async def test_the_second_reviewer_is_told_and_keeps_what_was_written(console: Console) -> None:
    group, ids = await put_insights(console, 3)
    written = "The payment service runs on the new cluster since Monday."
    async with sign_in(console, "Ann", group) as ann, sign_in(console, "Bo", group) as bo:
        await bo.keyboard.press("e")
        await bo.get_by_label("The text that becomes a memory").fill(written)
        await ann.keyboard.press("r")
        await ann.get_by_label("Why is it rejected?").fill("Measured on one day only")
        await ann.keyboard.press("Enter")
        await expect(ann.locator(".dossier > .statement")).to_have_text(TOPICS[1])
        await expect(bo.locator("#edit")).to_contain_text("Ann has decided on it meanwhile (reject)")
        await expect(bo.get_by_text("Ann has decided on it").locator("visible=true")).to_have_count(1)
        await bo.locator("#edit").get_by_role("button", name="Promote").click()
        await expect(bo.locator(".unsent")).to_contain_text("Your decision (promote) was not carried out.")
        await expect(bo.get_by_text("Ann decided before you (reject)")).to_have_count(1)
        await expect(bo.get_by_label("You had written:")).to_have_value(written)
        await expect(bo.locator(".history")).to_contain_text("Measured on one day only")
        await bo.keyboard.press("j")
        await expect(bo.locator(".dossier > .statement")).to_have_text(TOPICS[1])
    assert (await console.memory.review.insight(ids[0], group=group)).insight.state is InsightState.REJECTED


async def test_many_are_decided_as_they_were_shown(console: Console) -> None:
    group, ids = await put_insights(console, 4)
    async with sign_in(console, "Ann", group) as ann, sign_in(console, "Bo", group) as bo:
        for number in range(3):
            await bo.locator(".insight-list input").nth(number).check()
        await bo.locator("[data-bulk]").get_by_role("button", name="Promote").click()
        await expect(bo.get_by_role("dialog")).to_contain_text("3 insights will become memories")
        await ann.keyboard.press("p")
        await expect(ann.locator(".dossier > .statement")).to_have_text(TOPICS[1])
        await ann.keyboard.press("m")
        await ann.locator("#merge li", has_text=TOPICS[3]).get_by_role("checkbox").check()
        await ann.locator("#merge").get_by_role("button", name="Merge").click()
        await expect(ann.locator(".sources").first.locator("li")).to_have_count(2)
        await bo.get_by_role("dialog").get_by_role("button", name="Promote").click()
        toast = bo.locator("#toasts")
        await expect(toast).to_contain_text("Promoted: 1.")
        await expect(toast).to_contain_text(f"“{TOPICS[0]}” Ann decided before you (promote).")
        await expect(toast).to_contain_text("Ann decided before you (merge).")
    states = [(await console.memory.review.insight(one, group=group)).insight.state for one in ids]
    assert states == ["promoted", "pending", "promoted", "merged"], "the merged text was not shown to Bo"
    assert await count_pending(console, group) == 1
