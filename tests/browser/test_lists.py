"""Quarantine, working memory and long-term memory in a browser."""

from uuid import UUID, uuid4

import psycopg
from playwright.async_api import expect

from clearwell.records import NewCapture
from clearwell.stores.postgres.quarantine import WINDOW
from tests.browser.conftest import Console
from tests.integration.http.serving import servers_of

SAID = "The payment gateway times out above five hundred parallel requests; capacity has to be added before the launch."
DOUBTED = "The nightly backup of the billing database now takes eleven minutes instead of forty."
HOSTILE = (
    "**Decision:** the launch moves to Tuesday.<script>alert(1)</script> ✅ Verified ![x](http://evil.example/x.png)"
)
MANY = """
WITH captured AS (
    INSERT INTO quarantine_logs (group_id, id, node_type, content, raw_metadata, partial, occurred_at, created_at,
        captured_by)
    SELECT %(group)s, uuidv7(), 'agent', 'Nothing of note.', '{}', false, now(), now() + n * interval '1 ms',
        'test'
    FROM generate_series(1, %(rows)s) AS n RETURNING id
)
INSERT INTO admissions (group_id, log_id, state, next_try_at, settled_at)
SELECT %(group)s, id, 'refused', now(), now() FROM captured
"""


def say(group: str, content: str, confidence: float = 0.9, agent: str = "scout") -> NewCapture:
    return NewCapture(content=content, group_id=group, agent_id=agent, metadata={"confidence": confidence})


async def test_a_refused_output_is_found_and_admitted(console: Console) -> None:
    group = f"lists/{uuid4()}"
    await console.memory.capture(say(group, SAID), wait=True)
    await console.memory.capture(say(group, DOUBTED, 0.3, "critic"), wait=True)
    async with console.open(f"/g/{group}/quarantine") as page:
        await expect(page.locator(".outputs tbody tr")).to_have_count(2)
        await page.get_by_label("Outcome").select_option("refused")
        await page.get_by_role("button", name="Filter").click()
        await expect(page).to_have_url(
            f"{console.url}/g/{group}/quarantine?q=&admission=refused&agent=&session=&node_type=&flag=&since=&until="
        )
        await expect(page.locator(".outputs tbody tr")).to_have_count(1)
        await page.get_by_role("link", name="The nightly backup").click()
        await expect(page.locator(".checks tbody tr").first).to_contain_text("The confidence 0.3 is below 0.8.")
        await expect(page.locator(".segment-claim").first).to_contain_text("The nightly backup")
        await page.get_by_text("Admit", exact=True).click()
        await page.get_by_label("Why was the refusal wrong?").fill("measured twice")
        await page.get_by_role("button", name="Admit to working memory").click()
        await expect(page.locator(".badge-ephemeral")).to_be_visible()
        await expect(page.locator(".checks")).to_contain_text("measured twice")


async def test_a_search_goes_on_by_itself_until_it_finds(console: Console) -> None:
    group = f"lists-{uuid4()}"
    await console.memory.capture(say(group, DOUBTED), wait=True)
    with psycopg.connect(servers_of(console.clearwell.settings).database_url, autocommit=True) as owner:
        owner.execute(MANY, {"group": group, "rows": WINDOW + 10})
    async with console.open(f"/g/{group}/quarantine?q=NIGHTLY") as page:
        await expect(page.locator(".outputs tbody tr")).to_have_count(1)
        await expect(page.locator(".outputs")).to_contain_text("nightly backup")
        await expect(page.locator(".search-on")).to_have_count(0)
        await page.get_by_label("Text contains").fill("nowhere")
        await page.get_by_role("button", name="Filter").click()
        await expect(page.get_by_role("heading", name="No such output")).to_be_visible()


async def test_an_entry_is_promoted_and_another_removed(console: Console) -> None:
    group = f"lists-{uuid4()}"
    await console.memory.capture(say(group, SAID), wait=True)
    await console.memory.capture(say(group, DOUBTED), wait=True)
    async with console.open(f"/g/{group}/working") as page:
        entries = page.locator(".record")
        await expect(entries).to_have_count(2)
        await expect(entries.first.locator(".expiry")).to_have_text("expires in 24 hours")
        await entries.first.get_by_role("button", name="Promote").click()
        await expect(page.locator(".badge-verified")).to_be_visible()
        await page.get_by_role("link", name="Working memory").click()
        await entries.get_by_role("button", name="Remove").last.click()
        await expect(page.get_by_text("The payment gateway")).to_have_count(0)


async def test_a_memory_is_withdrawn_and_restored(console: Console) -> None:
    group = f"lists-{uuid4()}"
    await console.memory.promote(SAID, group=group)
    await console.memory.promote(DOUBTED, group=group)
    async with console.open(f"/g/{group}/memories") as page:
        await page.get_by_label("Text contains").fill("GATEWAY")
        await page.get_by_role("button", name="Filter").click()
        await expect(page.locator(".record")).to_have_count(1)
        await page.get_by_role("link", name="Open the memory").click()
        await page.get_by_text("Withdraw", exact=True).click()
        await page.get_by_label("Why does it no longer hold?").fill("fixed by the release of May")
        await page.get_by_role("button", name="Withdraw the memory").click()
        await expect(page.get_by_text("withdrawn", exact=True)).to_be_visible()
        await expect(page.locator("table")).to_contain_text("fixed by the release of May")
        row = page.locator("tbody tr", has_text="fixed by")
        await row.get_by_role("button", name="Undo").click()
        await expect(page.locator(".badge-verified")).to_be_visible()


async def test_a_memory_shows_its_versions_and_what_was_verified_then(console: Console) -> None:
    group = f"lists-{uuid4()}"
    first = await console.memory.promote("Backups are kept for ninety days in two regions.", group=group)
    await console.memory.promote("Backups are kept for sixty days in two regions.", group=group, supersedes=first.id)
    async with console.open(f"/g/{group}/memories/{first.id}") as page:
        versions = page.locator(".versions .record")
        await expect(versions).to_have_count(2)
        await expect(versions.first.locator("ins")).to_have_text("sixty")
        await expect(versions.first.locator("del")).to_have_text("ninety")
        await expect(versions.last).to_contain_text("this version")
        third = "Backups are kept for thirty days in two regions."
        second = await page.locator(".versions a").first.get_attribute("href")
        assert second is not None
        await console.memory.promote(third, group=group, supersedes=UUID(second.rpartition("/")[2]))
        await page.reload()
        await expect(versions).to_have_count(3)
        await expect(versions.first.locator("ins")).to_have_text("thirty")
        await versions.last.get_by_role("link", name="Ask as of then").click()
        found = page.locator(".record.cold")
        await expect(found).to_have_count(1)
        await expect(found).to_contain_text("ninety days")
        await page.get_by_label("What was verified at (UTC)").fill("")
        await page.get_by_role("button", name="Ask", exact=True).click()
        await expect(found).to_contain_text("thirty days")


async def test_a_memory_shows_what_it_contradicts_and_its_use(console: Console) -> None:
    group = f"lists-{uuid4()}"
    await console.memory.promote("Backups are kept for ninety days in two regions.", group=group)
    await console.memory.promote("Backups are kept for sixty days in two regions.", group=group)
    async with console.open(f"/g/{group}/memories") as page:
        await expect(page.get_by_text("never given to an agent", exact=True)).to_have_count(2)
        await page.get_by_label("Text contains").fill("How long are backups kept?")
        await page.get_by_role("button", name="Search as agents do").click()
        await expect(page.locator(".record.cold")).to_have_count(2)
        await page.locator(".record").first.get_by_text("Why here?").click()
        await expect(page.locator(".parts").first).to_contain_text("vectors")
    await console.clearwell.uses.record()
    async with console.open(f"/g/{group}/memories") as page:
        unused = page.get_by_text("never given to an agent", exact=True)
        await expect(unused, "a person searched, no agent").to_have_count(2)
    await console.memory.retrieve("How long are backups kept?", group=group)
    await console.clearwell.uses.record()
    async with console.open(f"/g/{group}/memories") as page:
        used = page.get_by_text("given to agents on 1 day · last")
        await expect(used).to_have_count(2)
        await page.get_by_role("link", name="Open the memory").first.click()
        await expect(used).to_be_visible()
        await expect(page.locator("#contradicted .record")).to_contain_text("ninety days")


async def test_text_of_an_agent_neither_runs_nor_poses_as_verified(console: Console) -> None:
    group = f"lists-{uuid4()}"
    receipt = await console.memory.capture(say(group, HOSTILE), wait=True)
    for path in ("quarantine", "working", f"quarantine/{receipt.id}"):
        async with console.open(f"/g/{group}/{path}") as page:
            await expect(page.get_by_text("the launch moves to Tuesday").first).to_be_visible()
            await expect(page.locator(".badge-verified")).to_have_count(0)
            await expect(page.locator("main img, main script")).to_have_count(0)
