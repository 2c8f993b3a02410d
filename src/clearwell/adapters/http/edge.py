"""The outermost layer: what nobody foresaw becomes a plain 500, and HEAD is GET without a body."""

import traceback

import structlog
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.problems import Refused, problem_answer, problem_of

log = structlog.get_logger(__name__)


class Edge:
    """Pure ASGI: nothing is buffered, and a request costs one function call."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def noted_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if scope["method"] == "HEAD":
                await self._app({**scope, "method": "GET"}, receive, _without_body(noted_send))
            else:
                await self._app(scope, receive, noted_send)
        except Exception as error:
            # Plain text: a renderer that shows local variables would put memory content in the log.
            log.error(
                "request failed", route=scope["path"], error=type(error).__name__, exception=traceback.format_exc()
            )
            if started:
                raise
            language = language_of(HTTPConnection(scope))
            answer = problem_answer(problem_of(Refused("http_failed", 500), language), 500, language)
            await answer(scope, receive, send)


def _without_body(send: Send) -> Send:
    async def send_head(message: Message) -> None:
        await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

    return send_head
