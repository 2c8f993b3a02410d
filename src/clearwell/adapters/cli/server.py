"""``serve``: the bundled servers, the API and the worker, until a signal asks to stop. ``worker``: without the API."""

import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import uvicorn
from uvicorn.importer import import_from_string

from clearwell.adapters.cli.addresses import address, is_loopback, listen, take_port
from clearwell.adapters.cli.command import on_stop_signal
from clearwell.adapters.cli.connection import CREATE_APP, local_person
from clearwell.adapters.cli.terminal import Terminal
from clearwell.adapters.cli.welcome import Served, welcome
from clearwell.app import Clearwell, open_clearwell
from clearwell.client.discovery import ServerInfo, publish
from clearwell.logs import configure_logs
from clearwell.servers import Servers, running_servers
from clearwell.settings import Settings
from clearwell.worker import worker

DRAIN_SECONDS = 10


class ApiServer(uvicorn.Server):
    """Says when it is ready, and leaves signals to us: servers that we started have to be stopped after it."""

    def __init__(self, config: uvicorn.Config, *, on_ready: Callable[[], None], on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class StopRequest:
    """Whether the program was asked to stop. Asked twice, it no longer waits for open connections."""

    def __init__(self) -> None:
        self.asked = False
        self._api: ApiServer | None = None

    def ask(self) -> None:
        if self._api is not None:
            self._api.should_exit = True
            self._api.force_exit = self.asked
        self.asked = True

    def watch(self, api: ApiServer) -> None:
        self._api = api
        api.should_exit = self.asked


def run_server(settings: Settings, *, access_log: bool) -> None:
    """Serve until a signal asks to stop."""
    terminal = Terminal(settings.display_language)
    _configure_logs(settings, terminal)
    _warn_of_misspelt(terminal)
    stop = StopRequest()
    with on_stop_signal(stop.ask, even_if_ignored=True):
        sockets = take_port(settings)
        try:
            with asyncio.Runner(loop_factory=_new_event_loop) as runner:
                runner.run(_serve(settings, sockets, stop, terminal, access_log=access_log))
        finally:
            for listening in sockets:
                listening.close()
        terminal.tell("cli_serve_stopped")


def run_worker(settings: Settings, terminal: Terminal) -> None:
    """Work without the API until a signal asks to stop."""
    _configure_logs(settings, terminal)

    async def work() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        with on_stop_signal(lambda: loop.call_soon_threadsafe(stop.set), even_if_ignored=True):
            async with (
                running_servers(settings) as servers,
                open_clearwell(settings, servers) as clearwell,
                worker(clearwell),
            ):
                terminal.tell("cli_worker_ready")
                await stop.wait()

    asyncio.run(work())
    terminal.tell("cli_worker_stopped")


def _configure_logs(settings: Settings, terminal: Terminal) -> None:
    colors = terminal.err.is_terminal and not terminal.err.no_color
    configure_logs(settings.display_language, level=logging.INFO, colors=colors)


def _warn_of_misspelt(terminal: Terminal) -> None:
    """Name each variable that no setting reads: it would be missed only when it is too late."""
    for name, meant in Settings.find_misspelt_variables().items():
        if meant:
            terminal.warn("cli_variable_misspelt", name=name, meant=meant)
        else:
            terminal.warn("cli_variable_unknown", name=name)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop, which spends less CPU time on each request. It does not exist for Windows."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


async def _serve(
    settings: Settings, sockets: list[socket.socket], stop: StopRequest, terminal: Terminal, *, access_log: bool
) -> None:
    async with running_servers(settings) as servers:
        if stop.asked:
            return
        listen(sockets, settings)
        app = import_from_string(CREATE_APP)(settings, servers=servers)
        # We run the lifespan: uvicorn would turn an error in it into a traceback.
        async with app.router.lifespan_context(app):
            served = await _describe(settings, servers, app.state.clearwell)
            with ExitStack() as published:
                api = ApiServer(
                    _configure(app, access_log=access_log),
                    on_ready=lambda: _announce(served, app.state.clearwell, published, terminal),
                    on_stop=lambda: _leave(published, terminal),
                )
                stop.watch(api)
                if not stop.asked:
                    await api.serve(sockets)


async def _describe(settings: Settings, servers: Servers, clearwell: Clearwell) -> Served:
    needs_key = not is_loopback(settings.host) or await clearwell.keys.any_key_ever()
    return Served(settings=settings, servers=servers, needs_key=needs_key)


def _announce(served: Served, clearwell: Clearwell, published: ExitStack, terminal: Terminal) -> None:
    """Let commands of this user find the server, as the person at the machine, and say that it is ready."""
    info = ServerInfo.describe(served.settings, address(served.settings))
    try:
        published.enter_context(publish(served.settings, info))
    except OSError as error:
        terminal.warn("cli_serve_unpublished", path=served.settings.data_dir, reason=error.strerror or error)
    else:
        clearwell.keys.trust(info.token, local_person())
    welcome(served, terminal)


def _leave(published: ExitStack, terminal: Terminal) -> None:
    """From now on commands open the stores themselves."""
    published.close()
    terminal.tell("cli_serve_stopping")


def _configure(app: Any, *, access_log: bool) -> uvicorn.Config:
    if access_log:
        logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    return uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=access_log,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
