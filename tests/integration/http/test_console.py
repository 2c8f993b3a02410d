"""The console over HTTP: who gets in, what a change needs, and what every page sends with it."""

import re
from collections.abc import AsyncIterator
from html import unescape
from urllib.parse import unquote

import httpx
import pytest
from fastapi import FastAPI

from clearwell.adapters.http.console import assets
from clearwell.adapters.http.console.navigation import PAGES, page_url
from clearwell.records import AuditFilter, NewCapture, Principal, Right
from clearwell.settings import Settings
from tests.insights import PERSON
from tests.integration.http.serving import LONG, OWN, Api, client_of, new_group, served

HTML = {"Accept": "text/html"}


def token_in(response: httpx.Response) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', response.text)
    assert found is not None, response.text
    return found[1]


def next_in(response: httpx.Response) -> str:
    """Where the form to sign in leads. The form of the preferences, which is before it, names a page, too."""
    return unescape(re.findall(r'name="next" value="([^"]*)"', response.text)[-1])


async def sign_in(browser: httpx.AsyncClient, secret: str, next_path: str = "/") -> httpx.Response:
    token = token_in(await browser.get("/sign-in"))
    return await browser.post("/sign-in", data={"form_token": token, "key": secret, "next": next_path})


async def test_the_start_page_leads_to_a_group_of_the_local_person(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    await module_api.clearwell.memory.acting_as(PERSON).capture(NewCapture(content=LONG, group_id=group), wait=True)
    start = await http.get("/")
    assert start.status_code == 303
    page = await http.get(f"/g/{group}/overview", headers={"Accept-Language": "zh"})
    assert page.status_code == 200
    assert "本地模式" in page.text
    assert group in (await http.get("/groups", headers={"HX-Request": "true"})).text


async def test_every_page_has_a_strict_policy(http: httpx.AsyncClient) -> None:
    for path in ("/sign-in", f"/g/{new_group()}/overview", "/no/such/page"):
        response = await http.get(path, headers=HTML)
        policy = response.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "same-origin"
        assert response.headers["cache-control"] == "no-store"
        text = response.text.replace(OWN, "")
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?://", text), path


async def test_a_foreign_host_and_a_proxy_are_refused_in_local_mode(module_app: FastAPI) -> None:
    async with client_of(module_app, "http://evil.example:8080") as rebound:
        assert (await rebound.get("/g/x/overview")).status_code == 403
    async with client_of(module_app, **{"X-Forwarded-For": "10.0.0.9"}) as proxied:
        assert (await proxied.get("/g/x/overview")).status_code == 403


@pytest.mark.parametrize("headers", [{}, {"X-Form-Token": "0" * 64}])
async def test_a_change_needs_the_token_of_a_page(http: httpx.AsyncClient, headers: dict[str, str]) -> None:
    refused = await http.post("/preferences", data={"language": "zh"}, headers={**HTML, **headers})
    assert refused.status_code == 403
    assert "earlier visit" in refused.text
    assert "language" not in "".join(refused.headers.get_list("set-cookie"))


async def test_a_form_of_another_site_changes_nothing(http: httpx.AsyncClient) -> None:
    token = token_in(await http.get("/sign-in"))
    data = {"language": "zh", "form_token": token}
    refused = await http.post("/preferences", data=data, headers={"Sec-Fetch-Site": "same-site"})
    assert refused.status_code == 403
    assert (await http.post("/preferences", data=data, headers={"Sec-Fetch-Site": "same-origin"})).status_code == 303


async def test_a_form_may_come_in_several_parts(http: httpx.AsyncClient) -> None:
    token = token_in(await http.get("/sign-in"))

    async def send_in_parts() -> AsyncIterator[bytes]:
        yield b"system_prompt=Be%20brief.&"
        yield f"form_token={token}".encode()

    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    path = f"/g/{new_group()}/agents/prompt"
    assert (await http.post(path, content=send_in_parts(), headers=headers)).status_code == 303


async def test_a_reviewer_signs_in_and_out(api: Api) -> None:
    group = new_group()
    _, secret = await api.key(Right.REVIEW, Right.READ, groups=[group])
    browser = await api.client()
    asked = await browser.get(f"/g/{group}/overview", headers=HTML)
    assert asked.status_code == 303
    assert asked.headers["location"].startswith("/sign-in?next=/g/")
    done = await sign_in(browser, secret, f"/g/{group}/overview")
    assert (done.status_code, done.headers["location"]) == (303, f"/g/{group}/overview")
    cookie = next(one for one in done.headers.get_list("set-cookie") if "session" in one)
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert secret not in cookie
    page = await browser.get(f"/g/{group}/overview")
    assert page.status_code == 200
    assert (await browser.get(f"/g/{new_group()}/overview", headers=HTML)).status_code == 403
    session = dict(browser.cookies)
    out = await browser.post("/sign-out", data={"form_token": token_in(page)})
    assert out.headers["location"] == "/sign-in?why=signed_out"
    for name, value in session.items():
        browser.cookies.set(name, value, domain="localhost.local")
    assert (await browser.get(f"/g/{group}/overview")).status_code == 303, "the token is worth nothing any more"


@pytest.mark.parametrize(
    "rights", [(Right.REVIEW,), (Right.ADMIN,), (Right.REVIEW, Right.READ), (Right.ADMIN, Right.REVIEW, Right.READ)]
)
async def test_the_menu_offers_the_pages_that_the_key_opens(api: Api, rights: tuple[Right, ...]) -> None:
    group = new_group()
    _, secret = await api.key(*rights, groups=[group])
    browser = await api.client()
    await sign_in(browser, secret)
    start = await browser.get(f"/g/{group}/overview", headers=HTML)
    assert 'title="Signed in as test"' in start.text
    for page in PAGES:
        answer = await browser.get(page_url(group, page.name), params={"q": "backups"}, headers=HTML)
        assert answer.status_code == (200 if f'href="{page_url(group, page.name)}"' in start.text else 403), page.name
        assert answer.status_code == 200 or "test lacks the scope" in answer.text


async def test_the_example_for_an_empty_group_has_a_key_once_there_are_keys(api: Api) -> None:
    group = new_group()
    _, secret = await api.key(Right.REVIEW, Right.READ, groups=[group])
    browser = await api.client()
    await sign_in(browser, secret)
    assert "Authorization: Bearer" in (await browser.get(f"/g/{group}/overview")).text


async def test_figures_that_the_key_may_not_read_are_unknown(api: Api) -> None:
    group = new_group()
    _, secret = await api.key(Right.REVIEW, groups=[group])
    browser = await api.client()
    await sign_in(browser, secret)
    shown = (await browser.get(f"/g/{group}/overview")).text
    assert "Unknown: reading working memory needs a key with the scope read." in shown
    assert len(re.findall(r"<dd>–</dd>", shown)) == 2


async def test_the_list_of_groups_is_a_page_when_it_is_opened_directly(http: httpx.AsyncClient) -> None:
    assert "console.css" in (await http.get("/groups", headers=HTML)).text
    assert "console.css" not in (await http.get("/groups", headers={"HX-Request": "true"})).text


@pytest.mark.parametrize("named", ["since=banana", "flag=banana", "admission=perhaps"])
async def test_a_wrong_filter_is_named_on_a_page_with_the_menu(http: httpx.AsyncClient, named: str) -> None:
    group = new_group()
    page = await http.get(f"/g/{group}/quarantine?{named}", headers=HTML)
    assert page.status_code == 422
    assert re.search(f"(: |：){named}", page.text)
    assert f'href="/g/{group}/memories"' in page.text


async def test_the_cookie_is_for_tls_alone_behind_tls(api: Api) -> None:
    await api.key(Right.REVIEW)
    browser = await api.client(**{"X-Forwarded-Proto": "https"})
    asked = await browser.get("/sign-in")
    assert all("Secure" in one for one in asked.headers.get_list("set-cookie"))


async def test_a_session_ends_with_its_key_and_counts_in_every_process(api: Api, settings: Settings) -> None:
    group = new_group()
    key, secret = await api.key(Right.REVIEW, Right.READ, groups=[group])
    browser = await api.client()
    await sign_in(browser, secret)
    async with served(settings) as other, client_of(other) as same_browser:
        same_browser.cookies = browser.cookies
        assert (await same_browser.get(f"/g/{group}/overview")).status_code == 200
        await api.clearwell.keys.revoke(key.id, by=Principal.local("test"))
        assert (await same_browser.get(f"/g/{group}/overview")).status_code == 303
        assert (await browser.get(f"/g/{group}/overview")).status_code == 303


async def test_a_key_of_an_agent_cannot_sign_in(api: Api) -> None:
    browser = await api.client()
    for rights, agent_id, why in (
        ((Right.CAPTURE, Right.READ), "scout", "bound to the agent scout"),
        ((Right.CAPTURE, Right.READ), None, "has only the scope capture, read"),
    ):
        _, secret = await api.key(*rights, agent_id=agent_id)
        refused = await sign_in(browser, secret)
        assert refused.status_code == 403
        assert why in refused.text
    assert "not valid" in (await sign_in(browser, "cw_wrong")).text
    assert not [name for name in browser.cookies if "session" in name]


async def test_a_session_is_no_key_of_the_api(api: Api) -> None:
    _, secret = await api.key(Right.REVIEW, Right.READ)
    browser = await api.client()
    await sign_in(browser, secret)
    token = next(value for name, value in browser.cookies.items() if "session" in name)
    as_key = await api.client(Authorization=f"Bearer {token}")
    assert (await as_key.get("/api/v1/groups")).status_code == 401
    assert (await browser.get("/api/v1/groups")).status_code == 401, "a cookie is not enough for the API"


@pytest.mark.parametrize("wanted", ["/quarantine?q=50%25+off&agent=a%26b", "/review?at=1&flag=conflict", "/overview"])
async def test_signing_in_leads_to_the_whole_address(api: Api, wanted: str) -> None:
    _, secret = await api.key(Right.REVIEW, Right.READ)
    browser = await api.client()
    address = f"{page_url('billing?', '')[:-1]}{wanted}"
    asked = await browser.get(address, headers=HTML)
    part = {"HX-Request": "true", "HX-Current-URL": f"{OWN}{address}#part"}
    also = await browser.get("/g/billing/overview", headers=part)
    for lead in (asked.headers["location"], also.headers["hx-redirect"]):
        target = next_in(await browser.get(lead))
        assert (await sign_in(browser, secret, target)).headers["location"] == address
        browser.cookies.clear()


@pytest.mark.parametrize("path", ["//evil.example/x", "/%5Cevil.example", "/%09/evil.example?a=1"])
async def test_an_address_that_looks_like_another_host_is_not_followed(api: Api, path: str) -> None:
    _, secret = await api.key(Right.REVIEW)
    browser = await api.client()
    part = {"HX-Request": "true", "HX-Current-URL": f"{OWN}{path}"}
    asked = await browser.get("/g/x/overview", headers=part)
    form = await browser.get(asked.headers["hx-redirect"])
    assert (await sign_in(browser, secret, next_in(form))).headers["location"] in ("/", path)
    assert next_in(await browser.get("/sign-in", params={"next": unquote(path)})) == "/"


@pytest.mark.parametrize("right", [Right.REVIEW, Right.ADMIN])
async def test_browsing_the_pages_of_the_menu_is_never_refused(api: Api, right: Right) -> None:
    group = new_group()
    person = api.clearwell.memory.acting_as(PERSON)
    said = await person.capture(NewCapture(content=LONG, group_id=group, session_id="s-1"), wait=True)
    made = await person.promote("Backups are kept for ninety days in two regions.", group=group)
    _, secret = await api.key(right, groups=[group])
    browser = await api.client()
    await sign_in(browser, secret)
    start = await browser.get(f"/g/{group}/overview", headers=HTML)
    opened = [page_url(group, page.name) for page in PAGES if f'href="{page_url(group, page.name)}"' in start.text]
    parts = ("overview/activity", "agents/reliability", f"quarantine/{said.id}", f"memories/{made.id}")
    for path in [*opened, *(page_url(group, part) for part in parts), f"/g/{group}/chat/{said.id}/influence"]:
        assert (await browser.get(path, headers=HTML)).status_code == 200, path
    refused = await person.audit_events(group=group, where=AuditFilter(action="refused"))
    assert [event.subject for event in refused] == []


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:1"])
async def test_signing_in_leads_to_this_server_alone(api: Api, target: str) -> None:
    _, secret = await api.key(Right.ADMIN)
    browser = await api.client()
    assert (await sign_in(browser, secret, target)).headers["location"] == "/"


async def test_assets_are_kept_by_the_browser_and_small(http: httpx.AsyncClient) -> None:
    url = assets.asset_url("console.css")
    sent = await http.get(url)
    assert sent.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert sent.headers["content-encoding"] == "gzip"
    again = await http.get(url, headers={"If-None-Match": sent.headers["etag"]})
    assert again.status_code == 304
    assert (await http.get("/static/x/console.css")).headers["cache-control"] == "no-cache"
    assert (await http.get("/static/x/../secret")).status_code == 404
    page = await http.get("/sign-in")
    loaded = re.findall(r'(?:src|href)="/static/\w+/([^"]+)"', page.text)
    assert "vendor/htmx/htmx.min.js" in loaded
    size = sum(len(found.compressed or found.content) for name, found in assets.assets().items() if name in loaded)
    assert size + len(page.content) < 120_000


async def test_the_demo_needs_every_group_and_the_right_to_administer(api: Api) -> None:
    for rights, groups in (((Right.REVIEW, Right.READ), None), ((Right.ADMIN, Right.REVIEW), [new_group()])):
        _, secret = await api.key(*rights, groups=groups)
        browser = await api.client()
        await sign_in(browser, secret)
        token = token_in(await browser.get("/sign-in"))
        assert (await browser.post("/demo", data={"form_token": token}, headers=HTML)).status_code == 403


async def test_the_overview_says_that_the_demo_runs(api: Api) -> None:
    browser = await api.client()
    token = token_in(await browser.get("/sign-in"))
    started = await browser.post("/demo", data={"form_token": token}, headers=HTML)
    shown = await browser.get(started.headers["location"], headers={**HTML, "Accept-Language": "en"})
    assert "The demo is running" in shown.text
    assert "This group is empty" not in shown.text


async def test_keys_are_managed_by_operators_of_every_group(api: Api) -> None:
    group = new_group()
    victim, _ = await api.key(Right.READ)
    for rights, groups in (((Right.REVIEW, Right.READ), None), ((Right.ADMIN, Right.REVIEW), [group])):
        _, secret = await api.key(*rights, groups=groups)
        browser = await api.client()
        await sign_in(browser, secret)
        page = await browser.get(f"/g/{group}/agents")
        assert page.status_code == 200
        assert str(victim.id) not in page.text
        sent = {"form_token": token_in(page), "scope_admin": "1", "covers": "all"}
        assert (await browser.post(f"/g/{group}/agents/keys", data=sent, headers=HTML)).status_code == 403
        revoked = await browser.post(f"/g/{group}/agents/keys/{victim.id}/revoke", data=sent, headers=HTML)
        assert revoked.status_code == 403
    assert [key.revoked_at for key in await api.clearwell.keys.list() if key.id == victim.id] == [None]


async def test_a_schedule_that_was_typed_counts_without_a_script(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    path, memory = f"/g/{group}/agents", module_api.clearwell.memory.acting_as(PERSON)
    form = {"form_token": token_in(await http.get(path)), "schedule": "settings", "digest_zone": ""}
    wrong = await http.post(f"{path}/schedule", data={**form, "digest_cron": "every monday"}, headers=HTML)
    assert wrong.status_code == 422
    zone = await http.post(f"{path}/schedule", data={**form, "digest_zone": "Asia/Shanghai"}, headers=HTML)
    assert zone.status_code == 422
    typed = {**form, "digest_cron": "30 5 * * 2"}
    await http.post(f"{path}/schedule", data=typed, headers=HTML)
    assert (await memory.group(group)).digest_cron == "30 5 * * 2"
    assert "toast-good" in (await http.get(path)).text
    assert "toast-good" not in (await http.get(path)).text, "said once"
    await http.post(f"{path}/schedule", data=typed, headers=HTML)
    assert (await memory.group(group)).digest_cron is None, (
        "it was there before, and the choice is that of the settings"
    )


async def test_the_first_key_without_admin_is_asked_for_again(api: Api) -> None:
    group = new_group()
    browser = await api.client()
    path = f"/g/{group}/agents"
    page = await browser.get(path)
    assert "Local mode" in page.text
    sent = {"form_token": token_in(page), "scope_review": "1", "covers": "all"}
    for wrong in (sent, {**sent, "scope_admin": "1", "covers": "", "groups": group}):
        asked = await browser.post(f"{path}/keys", data=wrong, headers=HTML)
        assert "Nobody could administer this installation" in asked.text
        assert await api.clearwell.keys.list() == []
    made = await browser.post(f"{path}/keys", data={**sent, "confirmed": "1"}, headers=HTML)
    assert "cw_" in made.text
    assert "Local mode.</b>" not in made.text
    assert len(await api.clearwell.keys.list()) == 1


async def test_an_output_and_a_memory_are_found_by_their_short_ids(module_api: Api, http: httpx.AsyncClient) -> None:
    group, memory = new_group(), module_api.clearwell.memory.acting_as(PERSON)
    said = await memory.capture(NewCapture(content=LONG, group_id=group), wait=True)
    made = await memory.promote("Backups are kept for ninety days in two regions.", group=group)
    for page, whole in (("quarantine", said.id), ("memories", made.id)):
        address = f"{page_url(group, page)}/{whole}"
        short = str(whole)[-8:]
        assert (await http.get(f"{page_url(group, page)}/{short}")).headers["location"] == address
        for typed in (short, f"…{short}", str(whole).upper()):
            found = await http.get(page_url(group, page), params={"q": typed})
            assert found.headers["location"] == address
        for wrong in ("nonsense", "00000000"):
            missing = await http.get(f"{page_url(group, page)}/{wrong}", headers={**HTML, "Accept-Language": "en"})
            assert missing.status_code == 404
            assert wrong in missing.text
            assert f'href="{page_url(group, page)}"' in missing.text
        assert (await http.get(page_url(group, page), params={"q": "00000000"})).status_code == 200


async def test_an_audit_without_events_says_what_it_is_for(api: Api) -> None:
    browser = await api.client(**{"Accept-Language": "en"})
    for query, text in (("", "Every change in this group"), ("?installation=true", "keys that are created or revoked")):
        assert text in (await browser.get(f"/g/{new_group()}/audit{query}")).text
    assert "Change the filters." in (await browser.get(f"/g/{new_group()}/audit?actor=nobody")).text


async def test_a_problem_is_a_page_for_people_and_json_for_programs(http: httpx.AsyncClient) -> None:
    page = await http.get("/no/such/page", headers={**HTML, "Accept-Language": "zh"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "没有页面 /no/such/page" in page.text
    assert (await http.get("/no/such/page")).headers["content-type"] == "application/problem+json"


async def test_long_messages_of_a_session_are_shown_page_by_page(module_api: Api, http: httpx.AsyncClient) -> None:
    group = new_group()
    for name in ("first", "second", "third"):
        said = NewCapture(content=f"{name} message. " + LONG * 600, group_id=group, session_id="s-1")
        await module_api.clearwell.memory.acting_as(PERSON).capture(said)
    pages = [await http.get(f"/g/{group}/chat")]
    while found := re.search(r'href="([^"]+before=[^"]+)"', pages[-1].text):
        pages.append(await http.get(unescape(found[1])))
    shown = [list(dict.fromkeys(re.findall(r"(\w+) message\.", page.text))) for page in pages]
    assert shown == [["third"], ["second"], ["first"]]
