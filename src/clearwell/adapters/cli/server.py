"""``serve``: the bundled servers, the API and the worker, until a signal asks to stop. ``worker``: without the API."""

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from typing import Any

import typer
import uvicorn
from uvicorn.importer import import_from_string

from clearwell.adapters.cli.addresses import address, is_loopback, listen, take_port
from clearwell.adapters.cli.command import on_stop_signal
from clearwell.adapters.cli.connection import CREATE_APP, local_person
from clearwell.adapters.cli.problems import report
from clearwell.adapters.cli.protocol import TimedProtocol
from clearwell.adapters.cli.terminal import Terminal, prepare_streams
from clearwell.adapters.cli.welcome import ServeSummary, welcome
from clearwell.adapters.cli.workers import Assignment, WorkerPool, on_supervisor_end, report_ready
from clearwell.app import open_clearwell
from clearwell.client.discovery import ServerInfo, publish
from clearwell.embedded import MAX_CONNECTIONS
from clearwell.errors import ClearwellError
from clearwell.logs import configure_logs
from clearwell.servers import running_servers
from clearwell.settings import Settings
from clearwell.worker import worker

DRAIN_SECONDS = 10
COLLECTIONS = 20_000, 20, 50
"""The thresholds of the garbage collector: new objects, then collections of each younger generation."""


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

    def stop(self, again: bool) -> None:
        """Finish open requests and end; asked again, do not wait for them."""
        self.should_exit = True
        self.force_exit = again

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class StopRequest:
    """Whether a stop was requested. ``watch`` sets what to call then, with whether it was requested before."""

    def __init__(self) -> None:
        self.asked = False
        self._act: Callable[[bool], None] | None = None

    def ask(self) -> None:
        again, self.asked = self.asked, True
        if self._act is not None:
            self._act(again)

    def watch(self, act: Callable[[bool], None]) -> None:
        self._act = act


def run_server(settings: Settings, *, workers: int, access_log: bool) -> None:
    """Serve until a signal requests to stop."""
    terminal = Terminal(settings.display_language)
    _configure_logs(settings, terminal)
    _warn_of_misspelt(terminal)
    stop = StopRequest()
    with on_stop_signal(stop.ask, even_if_ignored=True):
        sockets = take_port(settings)
        try:
            if workers == 1:
                with asyncio.Runner(loop_factory=_new_event_loop) as runner:
                    runner.run(_serve(settings, sockets, stop, terminal, access_log=access_log))
            else:
                asyncio.run(_supervise(settings, sockets, stop, terminal, workers=workers, access_log=access_log))
        finally:
            _close(sockets)
        terminal.tell("cli_serve_stopped")


def run_worker(settings: Settings, terminal: Terminal) -> None:
    """Run the worker without the API until a signal requests to stop."""
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
    """Warn about environment variables that look like settings but are unknown."""
    for name, meant in Settings.find_misspelt_variables().items():
        if meant:
            terminal.warn("cli_variable_misspelt", name=name, meant=meant)
        else:
            terminal.warn("cli_variable_unknown", name=name)


def _warn_of_connections(settings: Settings, terminal: Terminal, *, workers: int) -> None:
    """Say when the pools of all processes can open more connections than the bundled PostgreSQL accepts."""
    size = settings.postgres_pool_max
    if settings.database_url is None and workers * size > MAX_CONNECTIONS:
        terminal.warn(
            "cli_serve_connections", workers=workers, size=size, wanted=workers * size, accepted=MAX_CONNECTIONS
        )


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop, which spends less CPU time on each request. It does not exist for Windows."""
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


async def _serve(
    settings: Settings, sockets: list[socket.socket], stop: StopRequest, terminal: Terminal, *, access_log: bool
) -> None:
    """Serve from this process."""
    async with running_servers(settings) as servers:
        if stop.asked:
            return
        listen(sockets, settings)
        info = ServerInfo.describe(settings, address(settings))
        with ExitStack() as published:

            def announce(needs_key: bool) -> None:
                _announce(
                    ServeSummary(settings=settings, servers=servers, needs_key=needs_key), info, published, terminal
                )

            assignment = Assignment(
                settings=settings, servers=servers, sockets=sockets, token=info.token, access_log=access_log
            )
            await _serve_api(
                assignment, stop, sweeps=True, on_ready=announce, on_stop=lambda: _leave(published, terminal)
            )


async def _supervise(
    settings: Settings,
    sockets: list[socket.socket],
    stop: StopRequest,
    terminal: Terminal,
    *,
    workers: int,
    access_log: bool,
) -> None:
    """Serve from several processes, which this one starts, watches and stops."""
    loop = asyncio.get_running_loop()
    async with running_servers(settings) as servers:
        info = ServerInfo.describe(settings, address(settings))
        assignment = Assignment(
            settings=settings, servers=servers, sockets=sockets, token=info.token, access_log=access_log
        )
        pool = WorkerPool(serve_assignment, assignment, workers)
        with ExitStack() as published:

            def leave(again: bool) -> None:
                if not again:
                    _leave(published, terminal)
                    _close(sockets)  # or new connections would wait for an answer until the others have ended
                pool.stop()

            def ask_pool(again: bool) -> None:
                loop.call_soon_threadsafe(leave, again)

            stop.watch(ask_pool)
            if stop.asked:
                return
            listen(sockets, settings)
            _warn_of_connections(settings, terminal, workers=workers)
            needs_key = await pool.start()
            if not stop.asked:
                if needs_key is None:
                    raise typer.Exit(1)
                _announce(
                    ServeSummary(settings=settings, servers=servers, needs_key=needs_key), info, published, terminal
                )
            await pool.wait()


def serve_assignment(assignment: Assignment, number: int, sender: Connection) -> None:
    """What a process of several does: serve until the supervisor asks it to stop, or ends."""
    prepare_streams()
    terminal = Terminal(assignment.settings.display_language)
    _configure_logs(assignment.settings, terminal)
    stop = StopRequest()

    async def serve() -> None:
        on_supervisor_end(stop.ask)
        await _serve_api(
            assignment,
            stop,
            sweeps=number == 0,
            on_ready=lambda needs_key: report_ready(sender, needs_key=needs_key),
            on_stop=lambda: None,
        )

    try:
        with (
            on_stop_signal(stop.ask, even_if_ignored=True),
            asyncio.Runner(loop_factory=_new_event_loop) as runner,
        ):
            runner.run(serve())
    except (ClearwellError, OSError) as error:
        sys.exit(report(error))


async def _serve_api(
    assignment: Assignment,
    stop: StopRequest,
    *,
    sweeps: bool,
    on_ready: Callable[[bool], None],
    on_stop: Callable[[], None],
) -> None:
    """Open the program and serve until ``stop`` is requested. ``on_ready`` gets whether a key is needed."""
    settings = assignment.settings
    app = import_from_string(CREATE_APP)(settings, servers=assignment.servers, sweeps=sweeps)
    # We run the lifespan: uvicorn would turn an error in it into a traceback.
    async with app.router.lifespan_context(app):
        keys = app.state.clearwell.keys
        keys.trust(assignment.token, local_person())
        needs_key = not is_loopback(settings.host) or await keys.any_key_ever()

        def end_streams() -> None:
            """A stream of events has no end of its own, and the server waits for open requests."""
            app.state.clearwell.feed.close()
            on_stop()

        api = ApiServer(
            _configure(app, access_log=assignment.access_log),
            on_ready=lambda: on_ready(needs_key),
            on_stop=end_streams,
        )
        stop.watch(api.stop)
        _collect_garbage_rarely()
        if not stop.asked:
            await api.serve(assignment.sockets)


def _collect_garbage_rarely() -> None:
    """Leave what the program consists of out of garbage collections, and start one after more new objects.

    A request makes some thousand objects and hardly any cycle. With Python's own thresholds, which suit short
    programs, collections took a tenth of its CPU time.
    """
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)


def _announce(served: ServeSummary, info: ServerInfo, published: ExitStack, terminal: Terminal) -> None:
    """Let commands of this user find the server, and say that it is ready."""
    try:
        published.enter_context(publish(served.settings, info))
    except OSError as error:
        terminal.warn("cli_serve_unpublished", path=served.settings.data_dir, reason=error.strerror or error)
    welcome(served, terminal)


def _close(sockets: list[socket.socket]) -> None:
    for listening in sockets:
        listening.close()


def _leave(published: ExitStack, terminal: Terminal) -> None:
    """Remove the server file: commands open the stores themselves from now on."""
    published.close()
    terminal.tell("cli_serve_stopping")


def _configure(app: Any, *, access_log: bool) -> uvicorn.Config:
    if access_log:
        logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    return uvicorn.Config(
        app,
        http=TimedProtocol,
        lifespan="off",
        log_config=None,
        access_log=access_log,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
