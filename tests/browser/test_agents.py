"""Agents, groups and keys in a browser."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from playwright.async_api import Browser, expect

from clearwell.records import NewCapture, NewMemory, Principal, Right
from clearwell.settings import Settings
from tests.browser.conftest import Console, run_console

SAID = "The payment gateway times out above five hundred parallel requests; capacity has to be added before the launch."
HOSTILE = "<script>alert(1)</script> ✅ Verified <img src=http://evil.example/x.png>"


async def test_prompt_and_schedule_are_set_and_removed(console: Console) -> None:
    group = f"agents/{uuid4()}"
    async with console.open(f"/g/{group}/agents") as page:
        await page.get_by_label("System prompt of the group").fill("Name your sources.")
        await page.get_by_role("button", name="Save").first.click()
        await expect(page.locator(".toast")).to_contain_text("The system prompt was saved")
        await expect(page.get_by_role("button", name="Remove the prompt")).to_be_visible()
        await page.reload()
        await expect(page.locator(".toast"), "said once").to_have_count(0)
        await page.get_by_label("Cron expression").fill("every monday")
        await expect(page.get_by_label("Schedule of the digest"), "typed, so chosen").to_have_value("own")
        await page.get_by_role("button", name="Save").nth(1).click()
        fault = page.locator("label", has_text="Cron expression").get_by_role("alert")
        await expect(fault).to_contain_text("has five fields")
        await expect(fault).to_contain_text("every monday")
        await expect(fault).not_to_contain_text("digest_cron")
        await expect(page.locator(".toast-problem")).to_have_count(0)
        await expect(page.get_by_label("Cron expression")).to_have_value("every monday")
        await page.get_by_label("Cron expression").fill("30 5 * * 2")
        await page.get_by_label("Time zone").fill("Asia/Shanghai")
        await page.get_by_role("button", name="Save").nth(1).click()
        await expect(page.locator(".toast")).to_contain_text("The group has a schedule of its own now")
        await expect(page.get_by_role("alert")).to_have_count(0)
        await expect(page.get_by_label("Schedule of the digest")).to_have_value("own")
        found = await console.memory.group(group)
        assert (found.system_prompt, found.digest_cron, found.digest_zone) == (
            "Name your sources.",
            "30 5 * * 2",
            "Asia/Shanghai",
        )
        await page.get_by_role("button", name="Remove the prompt").click()
        await expect(page.get_by_label("System prompt of the group")).to_have_value("")
        assert (await console.memory.group(group)).system_prompt == ""
        await page.get_by_label("Schedule of the digest").select_option("settings")
        await expect(page.get_by_label("Cron expression")).to_have_value("")
        await page.get_by_role("button", name="Save").nth(1).click()
        await expect(page.locator(".toast")).to_contain_text("The digest follows the settings now")
        assert (await console.memory.group(group)).digest_cron is None


async def test_an_agent_is_added_edited_and_removed(console: Console) -> None:
    group = f"agents-{uuid4()}"
    async with console.open(f"/g/{group}/agents") as page:
        await page.get_by_text("Add an agent", exact=True).click()
        await page.get_by_label("Agent", exact=True).fill("risk/auditor")
        await page.get_by_label("Persona").fill(HOSTILE)
        await page.locator("#personas").get_by_role("button", name="Save").click()
        record = page.locator("#personas .record")
        await expect(page.locator(".toast")).to_contain_text("The persona was saved")
        await expect(record).to_contain_text("risk/auditor")
        await expect(page.locator(".badge-verified, main img, main script")).to_have_count(0)
        await record.get_by_text("Edit", exact=True).click()
        await record.get_by_label("Persona").fill("You look for what can go wrong.")
        await record.get_by_role("button", name="Save").click()
        await expect(record).to_contain_text("You look for what can go wrong.")
        await record.get_by_text("Remove", exact=True).click()
        await record.get_by_role("button", name="Remove the persona").click()
        await expect(record).to_have_count(0)
        assert await console.memory.agents(group=group) == []


async def test_reliability_says_what_it_counts_also_with_long_names(console: Console) -> None:
    group, agent = f"agents-{uuid4()}", "assistant-" * 11
    for text, confidence in ((SAID, 0.9), ("The nightly backup of billing now takes eleven minutes, not forty.", 0.85)):
        said = NewCapture(content=text, group_id=group, agent_id=agent, metadata={"confidence": confidence})
        receipt = await console.memory.capture(said, wait=True)
        await console.memory.review.promote_row(receipt.id, NewMemory(content=""), group=group)
    await console.memory.capture(
        NewCapture(content="An output of no agent, said by nobody.", group_id=group), wait=True
    )
    async with console.open(f"/g/{group}/agents") as page:
        await expect(page.get_by_role("heading", name="Insights, by agent")).to_be_visible()
        await expect(page.locator(".figures").last.locator(".repeated")).to_have_count(1)
        await expect(page.get_by_role("heading", name="Outputs, by stated confidence")).to_be_visible()
        for width in (1280, 390):
            await page.set_viewport_size({"width": width, "height": 800})
            for table in await page.locator("table.figures").all():
                assert await table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
            bar = await page.locator(".rate .bar").first.bounding_box()
            assert bar is not None
            assert bar["width"] > 50
        await page.set_viewport_size({"width": 1280, "height": 800})
        fields = [await page.get_by_label(label).bounding_box() for label in ("Cron expression", "Time zone")]
        assert fields[0] is not None
        assert fields[1] is not None
        assert (fields[0]["y"], fields[0]["height"]) == (fields[1]["y"], fields[1]["height"])


async def test_reliability_is_said_in_words(console: Console) -> None:
    group = f"agents-{uuid4()}"
    said = NewCapture(content=SAID, group_id=group, agent_id="scout", metadata={"confidence": 0.9})
    receipt = await console.memory.capture(said, wait=True)
    await console.memory.review.promote_row(receipt.id, NewMemory(content=""), group=group)
    async with console.open(f"/g/{group}/agents") as page:
        await expect(page.locator(".figures").last).to_contain_text(
            "Of 1 decided output, 100% was promoted; the stated confidence was 90% on average."
        )
        await page.set_viewport_size({"width": 390, "height": 800})
        for table in await page.locator("table.figures").all():
            assert await table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
        await page.set_viewport_size({"width": 1280, "height": 800})
        await page.get_by_text("Settings with their default").click()
        await expect(page.locator(".settings").last).to_contain_text("CLEARWELL_CONFIDENCE_THRESHOLD")


@pytest.fixture
async def locked(console_settings: Settings, browser: Browser) -> AsyncIterator[Console]:
    """A console of its own, because the first key ends local mode."""
    async with run_console(console_settings, browser) as running:
        yield running
        assert running.faults == []


async def test_a_key_is_shown_once_signs_in_and_is_revoked(locked: Console) -> None:
    group = f"agents-{uuid4()}"
    async with locked.open(f"/g/{group}/agents") as page:
        await page.get_by_text("Create a key", exact=True).first.click()
        await expect(page.get_by_text("The first key ends local mode")).to_be_visible()
        scopes = [page.get_by_label(scope) for scope in ("read:", "review:", "admin:")]
        for scope in scopes:
            await expect(scope, "the first key can do everything unless the person says otherwise").to_be_checked()
            await scope.uncheck()
        await expect(page.get_by_label("All groups")).to_be_checked()
        await page.get_by_role("button", name="Create a key").click()
        await expect(page.get_by_role("alert")).to_contain_text("at least one scope")
        await page.get_by_label("Name").fill("operator")
        await scopes[1].check()
        await page.get_by_role("button", name="Create a key").click()
        await expect(page.get_by_role("dialog")).to_contain_text("Nobody could administer this installation")
        await page.get_by_role("dialog").get_by_text("Cancel").click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        assert await locked.clearwell.keys.list() == []
        for scope in scopes:
            await scope.check()
        await page.get_by_role("button", name="Create a key").click()
        secret = (await page.locator(".new-key pre").inner_text()).strip()
        assert secret.startswith("cw_")
        await expect(page.locator(".toast"), "what was wrong before").to_have_count(0)
        await expect(page.get_by_text("Local mode.", exact=True)).to_have_count(0)
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.get_by_role("button", name="Copy").click()
        await expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert await page.evaluate("navigator.clipboard.readText()") == secret
        await page.reload()
        await page.get_by_label("Key").fill(secret)
        await page.get_by_role("button", name="Sign in").click()
        await page.goto(f"/g/{group}/agents")
        await expect(page.locator("main")).not_to_contain_text(secret)
        await expect(page.locator(".keys-table tbody tr")).to_contain_text("operator yours")
        key, _ = await locked.clearwell.keys.create(
            name="scout", rights=frozenset({Right.CAPTURE}), groups=None, agent_id="scout", by=Principal.local()
        )
        await page.reload()
        row = page.locator(".keys-table tr", has_text="scout")
        await row.get_by_text("Revoke", exact=True).click()
        await expect(row).to_contain_text("This cannot be undone.")
        await row.get_by_role("button", name="Revoke the key").click()
        await expect(row).to_contain_text("revoked")
        found = {each.id: each.revoked_at for each in await locked.clearwell.keys.list()}
        assert found[key.id] is not None


async def test_a_reviewer_sees_why_parts_are_missing(locked: Console) -> None:
    group = f"agents-{uuid4()}"
    _, secret = await locked.clearwell.keys.create(
        name="reviewer", rights=frozenset({Right.REVIEW}), groups=None, by=Principal.local()
    )
    async with locked.open(f"/sign-in?next=/g/{group}/agents") as page:
        await page.get_by_label("Key").fill(secret)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("heading", name="How reliable are the agents?")).to_be_visible()
        await expect(page.locator("#keys")).to_contain_text("lacks the scope admin")
        await expect(page.get_by_role("button", name="Save")).to_have_count(0)
        await expect(page.locator(".settings, .keys-table")).to_have_count(0)


async def test_an_administrator_of_some_groups_sees_no_settings(locked: Console) -> None:
    group = f"agents-{uuid4()}"
    _, secret = await locked.clearwell.keys.create(
        name="lead", rights=frozenset({Right.READ, Right.ADMIN}), groups=frozenset({group}), by=Principal.local()
    )
    async with locked.open(f"/sign-in?next=/g/{group}/agents") as page:
        await page.get_by_label("Key").fill(secret)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_label("System prompt of the group")).to_be_visible()
        await expect(page.locator(".settings")).to_have_count(0)
        await expect(page.locator("main")).not_to_contain_text("DATABASE_URL")
        await expect(page.locator("main")).to_contain_text("covers only some groups")


@pytest.mark.parametrize("width", [1280, 390])
async def test_the_command_of_the_sign_in_page_breaks_between_options(console: Console, width: int) -> None:
    async with console.open("/sign-in", width=width) as page:
        rows = await page.evaluate(
            "() => { const text = document.querySelector('pre.command').textContent;"
            "const at = text.indexOf('--all-groups'), range = document.createRange();"
            "const walker = document.createTreeWalker(document.querySelector('pre.command'), NodeFilter.SHOW_TEXT);"
            "let passed = 0, node; while ((node = walker.nextNode())) {"
            "const found = node.data.indexOf('--all-groups'); if (found < 0) { passed += node.length; continue; }"
            "range.setStart(node, found); range.setEnd(node, found + 12); return range.getClientRects().length; } }"
        )
        assert rows == 1
