"""The console behind a real server, in real Chromium. No page may report an error or ask another host."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg
import pytest
import redis
import uvicorn
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect
from scripts.browser import find_browser

from clearwell.adapters.http import create_app
from clearwell.app import Clearwell
from clearwell.records import Principal
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from tests.conftest import with_database
from tests.integration.http.serving import servers_of

ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REFUSALS = ("the server responded with a status of", "Response Status Error Code")
"""What Chromium and htmx report of an answer that is an error, which the page shows."""
PERSON = Principal.local("local")
_numbers = count()
expect.set_options(timeout=15_000)  # milliseconds; 5,000 is too short beside other work


@dataclass
class Console:
    """A running console, and what its pages did that they should not.

    Its pages share one context of the browser for each language and person, because a context of its own for each page
    takes twice the processor time of the test itself: Chromium opens a window for it and reads every script again.
    """

    url: str
    clearwell: Clearwell
    browser: Browser
    faults: list[str] = field(default_factory=list)
    contexts: dict[tuple[str, str], BrowserContext] = field(default_factory=dict)

    @property
    def memory(self) -> MemoryManager:
        return self.clearwell.memory.acting_as(PERSON)

    @asynccontextmanager
    async def open(
        self,
        path: str = "/",
        *,
        language: str = "en-US",
        theme: str = "light",
        width: int = 1280,
        height: int = 800,
        person: str = "local",
    ) -> AsyncIterator[Page]:
        """A new page without the cookies and the stored values of the pages before it.

        Pages that are open at the same time share their cookies, unless they are of another person.
        """
        context = await self._context(language, person)
        page = await self._watch(context)
        try:
            await page.set_viewport_size({"width": width, "height": height})
            await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
            await page.goto(path)
            yield page
        finally:
            await self._forget(context, page)
            await page.close()

    async def close(self) -> None:
        for context in self.contexts.values():
            await context.close()

    async def _context(self, language: str, person: str) -> BrowserContext:
        context = self.contexts.get((language, person))
        if context is None:
            context = await self.browser.new_context(base_url=self.url, locale=language)
            self.contexts[language, person] = context
            await context.new_page()  # keeps the window, which closes with its last page
        return context

    async def _forget(self, context: BrowserContext, page: Page) -> None:
        """Remove what the page stored, on whatever page the test ended."""
        await context.clear_cookies()
        devtools = await context.new_cdp_session(page)
        await devtools.send("Storage.clearDataForOrigin", {"origin": self.url, "storageTypes": "all"})

    async def _watch(self, context: BrowserContext) -> Page:
        page = await context.new_page()
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on(
            "console",
            lambda message: (
                self.faults.append(f"console: {message.text}")
                if message.type in {"error", "warning"} and not any(known in message.text for known in REFUSALS)
                else None
            ),
        )
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith(self.url) else self.faults.append(f"left the host: {request.url}")
            ),
        )
        return page


@pytest.fixture(scope="session")
def chromium() -> str:
    found = find_browser()
    if found is None:
        pytest.exit("The tests of the console need Chromium. Run: make browser", returncode=1)
    return found


@pytest.fixture(scope="package")
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """One browser for the consoles of all modules."""
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        yield running
        await running.close()


@pytest.fixture(scope="module")
def console_settings(
    postgres_url: str, valkey_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Settings]:
    """A database and an empty working memory that a module's tests share."""
    redis_url = f"{valkey_server}{'&' if '?' in valkey_server else '?'}db=14"
    with redis.Redis.from_url(redis_url) as working:
        working.flushdb()
    name = f"browser_{next(_numbers)}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE template_clearwell STRATEGY FILE_COPY')
        yield make_settings(with_database(postgres_url, name), redis_url, tmp_path_factory.mktemp("data"))
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def make_settings(database_url: str, redis_url: str, data_dir: Path) -> Settings:
    return Settings(database_url=database_url, redis_url=redis_url, data_dir=data_dir, sweep_seconds=0.2)


@asynccontextmanager
async def run_console(settings: Settings, browser: Browser) -> AsyncIterator[Console]:
    """The application behind uvicorn on a free port."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = int(listening.getsockname()[1])
    app = create_app(settings, servers_of(settings))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=2))
    async with app.router.lifespan_context(app):
        task = asyncio.create_task(server.serve(sockets=[listening]))
        async with asyncio.timeout(30):
            while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0)
        console = Console(f"http://localhost:{port}", app.state.clearwell, browser)
        yield console
        await console.close()
        app.state.clearwell.feed.close()
        server.should_exit = True
        await task


@pytest.fixture(scope="module")
async def module_console(console_settings: Settings, browser: Browser) -> AsyncIterator[Console]:
    async with run_console(console_settings, browser) as running:
        yield running


@pytest.fixture
async def console(module_console: Console) -> AsyncIterator[Console]:
    """The console of the module. A page that reported an error or asked another host fails its test."""
    module_console.faults.clear()
    yield module_console
    assert module_console.faults == []
