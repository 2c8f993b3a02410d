"""The audit and forgetting in a browser."""

from uuid import uuid4

import psycopg
from playwright.async_api import expect

from clearwell.records import NewCapture, Principal, Right
from tests.browser.conftest import Console
from tests.integration.http.serving import servers_of

SAID = "Ms. Arkwright told us that the payment gateway times out above five hundred parallel requests since Monday."
OTHER = "The nightly backup of the billing database now takes eleven minutes instead of forty."


async def test_the_trail_is_read_filtered_and_verified(console: Console) -> None:
    group = f"trust/{uuid4()}"
    await console.memory.promote(SAID, group=group)
    async with console.open(f"/g/{group}/overview") as page:
        await page.get_by_role("navigation").get_by_role("link", name="Audit").click()
        await expect(page.locator(".trail tbody tr", has_text="promote").first).to_contain_text("local")
        await page.get_by_label("Action").select_option("refused")
        await page.get_by_role("button", name="Filter").click()
        await expect(page.get_by_role("heading", name="No matching events")).to_be_visible()
        await page.get_by_role("button", name="Verify every event and seal").press("Enter")
        await expect(page.locator("#report")).to_contain_text("The trail is intact")
        with psycopg.connect(servers_of(console.clearwell.settings).database_url, autocommit=True) as owner:
            owner.execute("SET session_replication_role = replica")
            owner.execute("UPDATE audit_events SET actor = 'nobody' WHERE group_id = %s", (group,))
        await page.get_by_role("button", name="Verify every event and seal").click()
        await expect(page.locator("#report [role=alert]")).to_contain_text("The trail is not intact")
        await expect(page.locator("#report tbody tr").first).to_contain_text("an event was changed")
        await page.get_by_role("link", name="The installation").click()
        await expect(page.locator("h1")).to_have_text("Audit")
    async with console.open(f"/g/{group}/audit", language="zh-CN") as page:
        row = page.locator(".trail tbody tr").first
        await expect(row).to_contain_text("晋升")
        await expect(row).to_contain_text("来源直接录入")
        await expect(row).not_to_contain_text("promote")
        await row.get_by_role("link").click()
        await expect(page.locator(".agent-text").first).to_contain_text("Arkwright")


async def test_a_person_is_forgotten_after_the_number_is_typed(console: Console) -> None:
    group = f"trust-{uuid4()}"
    await console.memory.capture(
        NewCapture(content=SAID, group_id=group, agent_id="scout", metadata={"confidence": 0.9}), wait=True
    )
    await console.memory.promote(SAID, group=group)
    await console.memory.promote(OTHER, group=group)
    async with console.open(f"/g/{group}/overview") as page:
        await page.get_by_role("link", name="Forget").click()
        await page.set_viewport_size({"width": 390, "height": 800})
        choice = await page.locator("select[name=kind]").bounding_box()
        assert choice is not None
        assert choice["width"] > 300
        await page.get_by_label("Which one").fill("Arkwright")
        await page.get_by_role("button", name="Show what it would erase").click()
        await expect(page.locator(".erased")).to_contain_text("1 memory, with chunks and terms")
        assert "Arkwright" not in page.url
        wanted = await page.locator("input[name=expected]").get_attribute("value")
        await page.get_by_label("Type the number of things").fill("999")
        await page.get_by_role("button", name="Erase for good").click()
        await expect(page.get_by_role("alert")).to_contain_text("Nothing was erased")
        assert len(await console.memory.review.memories(group=group)) == 2
        await page.get_by_label("Type the number of things").fill(str(wanted))
        await page.get_by_role("button", name="Erase for good").click()
        await expect(page.get_by_role("heading", name="Forgotten")).to_be_visible()
        await expect(page.locator(".receipt")).to_contain_text("signature")
        await expect(page.locator("main")).not_to_contain_text("Arkwright")
        await page.reload()
        await expect(page.get_by_role("heading", name="Forgotten")).to_be_visible()
    left = [memory.promotion.promotion.text.content for memory in await console.memory.review.memories(group=group)]
    assert SAID not in left
    assert OTHER in left


async def test_forgetting_is_in_the_menu_of_who_may(console: Console) -> None:
    keys, person = console.clearwell.keys, Principal.local("local")
    rights = frozenset({Right.READ, Right.REVIEW})
    group = f"trust-{uuid4()}"
    key, secret = await keys.create(name="reviewer", rights=rights, groups=frozenset({group}), by=person)
    async with console.open("/sign-in") as page:
        await page.get_by_label("Key").fill(secret)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("link", name="Audit")).to_be_visible()
        await expect(page.get_by_role("link", name="Forget")).to_have_count(0)
        await page.goto(f"/g/{group}/forget")
        await expect(page.locator("main")).to_contain_text("lacks the scope admin")
        await page.goto(f"/g/{group}/audit")
        await expect(page.get_by_role("link", name="The installation")).to_have_count(0)
        await expect(page.locator(".trail")).to_contain_text("forget")
    await keys.revoke(key.id, by=person)
