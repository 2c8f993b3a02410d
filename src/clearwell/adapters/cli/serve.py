"""``serve``: the bundled servers, the API and the worker, until a signal asks to stop. ``worker``: without the API."""

import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
import uvicorn
from uvicorn.importer import import_from_string

from clearwell.adapters.cli.port import is_loopback, listen, take_port
from clearwell.adapters.cli.printing import Terminal
from clearwell.adapters.cli.signals import on_stop_signal
from clearwell.adapters.cli.welcome import Served, welcome
from clearwell.app import Clearwell, open_clearwell
from clearwell.logs import configure_logs
from clearwell.servers import Servers, running_servers
from clearwell.settings import Settings
from clearwell.worker import worker as run_worker

CREATE_APP = "clearwell.adapters.http.app:create_app"
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


class Stopping:
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


def warn_of_misspelt(terminal: Terminal) -> None:
    """A variable that no setting reads is told: it would be missed only when it is too late."""
    for name, meant in Settings.find_misspelt_variables().items():
        if meant:
            terminal.warn("cli_variable_misspelt", name=name, meant=meant)
        else:
            terminal.warn("cli_variable_unknown", name=name)


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option("--port", "-p", min=1, max=65535, help="Port to listen on.")] = None,
    access_log: Annotated[bool, typer.Option("--access-log", help="Log every request.")] = False,
) -> None:
    """Run Clearwell: the API, the worker, and the bundled servers as needed."""
    chosen: dict[str, Any] = {"host": host, "port": port}
    settings = Settings(**{name: value for name, value in chosen.items() if value is not None})
    terminal = Terminal(settings.display_language)
    colors = terminal.err.is_terminal and not terminal.err.no_color
    configure_logs(settings.display_language, level=logging.INFO, colors=colors)
    warn_of_misspelt(terminal)
    stopping = Stopping()
    with on_stop_signal(stopping.ask, even_if_ignored=True):
        sockets = take_port(settings)
        try:
            with asyncio.Runner(loop_factory=_new_event_loop) as runner:
                runner.run(_serve(settings, sockets, stopping, terminal, access_log=access_log))
        finally:
            for one in sockets:
                one.close()
        terminal.tell("cli_serve_stopped")


def worker() -> None:
    """Run a worker without the API: admissions left behind, digests, retries. As many of them as wanted."""
    settings = Settings()
    terminal = Terminal(settings.display_language)
    configure_logs(
        settings.display_language, level=logging.INFO, colors=terminal.err.is_terminal and not terminal.err.no_color
    )

    async def work() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        with on_stop_signal(lambda: loop.call_soon_threadsafe(stop.set), even_if_ignored=True):
            async with (
                running_servers(settings) as servers,
                open_clearwell(settings, servers) as clearwell,
                run_worker(clearwell),
            ):
                terminal.tell("cli_worker_ready")
                await stop.wait()

    asyncio.run(work())
    terminal.tell("cli_worker_stopped")


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop, which spends less CPU time on each request. It does not exist for Windows."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


async def _serve(
    settings: Settings, sockets: list[socket.socket], stopping: Stopping, terminal: Terminal, *, access_log: bool
) -> None:
    async with running_servers(settings) as servers:
        if stopping.asked:
            return
        listen(sockets, settings)
        app = import_from_string(CREATE_APP)(settings, servers=servers)
        # We run the lifespan: uvicorn would turn an error in it into a traceback.
        async with app.router.lifespan_context(app):
            served = await _served(settings, servers, app.state.clearwell)
            api = ApiServer(
                _config(app, access_log=access_log),
                on_ready=lambda: welcome(served, terminal),
                on_stop=lambda: terminal.tell("cli_serve_stopping"),
            )
            stopping.watch(api)
            if not stopping.asked:
                await api.serve(sockets)


async def _served(settings: Settings, servers: Servers, clearwell: Clearwell) -> Served:
    needs_key = not is_loopback(settings.host) or await clearwell.keys.any_key_ever()
    return Served(settings=settings, servers=servers, needs_key=needs_key)


def _config(app: Any, *, access_log: bool) -> uvicorn.Config:
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
