"""The console over HTTP: who gets in, what a change needs, and what every page sends with it."""

import re
from collections.abc import AsyncIterator
from html import unescape

import httpx
import pytest
from fastapi import FastAPI

from clearwell.adapters.http.console import assets
from clearwell.records import NewCapture, Principal, Right
from clearwell.settings import Settings
from tests.insights import PERSON
from tests.integration.http.serving import LONG, OWN, Api, client_of, new_group, served

HTML = {"Accept": "text/html"}


def token_in(response: httpx.Response) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', response.text)
    assert found is not None, response.text
    return found[1]


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
    shown = [re.findall(r"(\w+) message\.", page.text) for page in pages]
    assert shown == [["third"], ["second"], ["first"]]
