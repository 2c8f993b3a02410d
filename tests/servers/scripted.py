"""A real HTTP server for JSON APIs that answers by a script, well or badly, and records what it was asked."""

import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Reply:
    """What is sent, byte for byte. ``promised`` is the Content-Length where it is not the truth."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    promised: int | None = None


Behaviour = Callable[[Request], Reply | None]
"""Makes the reply to a request. None: hang until the server is closed."""


def answer(content: object) -> Reply:
    return Reply(body=json.dumps(content).encode(), headers={"Content-Type": "application/json"})


def reply(status: int = 200, body: object = "", **headers: str) -> Behaviour:
    """The same reply to any request; a body that is no string is sent as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Reply(status=status, body=text.encode(), headers=named)


def half_of(whole: Reply) -> Reply:
    """Half of an answer, then the connection is closed."""
    return Reply(body=whole.body[: len(whole.body) // 2], headers=whole.headers, promised=len(whole.body))


def hang(_: Request) -> None:
    """No answer at all."""


class ScriptedApi:
    """The server. Behaviours in ``script`` are used up one a request, then it does as it ``usually`` does."""

    def __init__(self, usually: Behaviour) -> None:
        self.usually = usually
        self.script: deque[Behaviour] = deque()
        self.requests: list[Request] = []
        self.closing = threading.Event()
        handler = type("BoundHandler", (_Handler,), {"api": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    api: ClassVar[ScriptedApi]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms for an acknowledgement

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = Request(path=self.path, headers=dict(self.headers.items()), body=body)
        self.api.requests.append(request)
        behaviour = self.api.script.popleft() if self.api.script else self.api.usually
        made = behaviour(request)
        if made is None:
            self.api.closing.wait()
            self.close_connection = True
        else:
            self._send(made)

    def _send(self, made: Reply) -> None:
        self.send_response_only(made.status)
        length = len(made.body) if made.promised is None else made.promised
        for name, value in {**made.headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self.wfile.write(made.body)
        except ConnectionError:  # the client has read enough
            self.close_connection = True
        else:
            self.close_connection = length != len(made.body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
