"""Requests to one server: bodies and parameters out, views or errors back."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import Final, NoReturn, TypeVar
from urllib.parse import quote
from uuid import UUID, uuid4

import httpx
from pydantic import ValidationError

from clearwell.client.discovery import ServerAddress
from clearwell.client.problems import error_from
from clearwell.client.retries import CHANGES_NOTHING, KEY_HEADER, RetryingTransport, RetryPolicy
from clearwell.errors import InvalidInput, Unavailable
from clearwell.messages import Language, say
from clearwell.views.problems import TYPE_PREFIX, ProblemView
from clearwell.views.view import View

V = TypeVar("V", bound=View)

CONNECT_SECONDS: Final = 5.0
PROBE_SECONDS: Final = 2.0
MAX_CONNECTIONS: Final = 50
JSON: Final = {"Content-Type": "application/json"}
READING: Final = {CHANGES_NOTHING: True}
PERSONS_RIGHTS: Final = frozenset({TYPE_PREFIX + "right_missing", TYPE_PREFIX + "agent_decides_nothing"})
"""Problems of callers who lack a right that a person may have."""


class ApiConnection:
    """Sends requests to ``base_url``. Every method raises the errors of the library.

    ``secret`` is an API key, or the token of a server file. With ``acts_for_agent`` the caller has no more rights than
    an agent. With a ``policy``, writes have an Idempotency-Key and failed requests are sent again; without it each
    request is sent once and may take any time. ``locate`` finds the server in place of ``base_url`` and ``secret``.
    ``transport`` replaces the network: an ASGI transport drives a program in this process.
    """

    def __init__(
        self,
        base_url: str,
        *,
        secret: str | None = None,
        language: Language = "en",
        acts_for_agent: bool = False,
        policy: RetryPolicy | None = None,
        locate: Callable[[], ServerAddress] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        headers: dict[str, str] = {"Accept-Language": language}
        if secret is not None:
            headers["Authorization"] = f"Bearer {secret}"
        if acts_for_agent:
            headers["Clearwell-Actor"] = "agent"
        self.base_url = base_url
        self._language: Language = language
        self._acts_for_agent = acts_for_agent
        self._policy = policy
        if transport is None:
            limits = httpx.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_CONNECTIONS)
            transport = httpx.AsyncHTTPTransport(verify=_tls_context(base_url), limits=limits)
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers=headers,
            transport=transport if policy is None else RetryingTransport(transport, policy, locate=locate),
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def is_alive(self) -> bool:
        """Whether a Clearwell server responds there within a short time."""
        try:
            answer = await self._http.get("/healthz", timeout=PROBE_SECONDS)
            return answer.is_success and bool(answer.json() == {"status": "alive"})
        except (httpx.HTTPError, ValueError):
            return False

    async def get(self, view: type[V], path: str, **parameters: object) -> V:
        return self._read(view, await self._send("GET", path, parameters=parameters))

    async def ask(self, view: type[V], path: str, fields: Mapping[str, object]) -> V:
        """Send a body that changes nothing on the server."""
        return self._read(view, await self._send("POST", path, body=_drop_none(fields), extensions=READING))

    async def post(
        self, view: type[V], path: str, fields: Mapping[str, object], *, key: str | None = None, **parameters: object
    ) -> V:
        """Send a body without the fields that are None, so that the defaults of the server apply."""
        return await self.write(view, "POST", path, _drop_none(fields), key=key, **parameters)

    async def write(
        self,
        view: type[V],
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        key: str | None = None,
        **parameters: object,
    ) -> V:
        """Send a request that changes something. ``key`` is its Idempotency-Key, the same in every attempt."""
        if key is None and self._policy is not None:
            key = str(uuid4())
        headers = {} if key is None else {KEY_HEADER: key}
        return self._read(view, await self._send(method, path, body=body, headers=headers, parameters=parameters))

    async def stream(
        self, path: str, *, headers: Mapping[str, str], silence_seconds: float, **parameters: object
    ) -> AsyncGenerator[str]:
        """Yield the lines of an answer that goes on. Raises Unavailable if nothing comes for this time."""
        request = self._http.build_request(
            "GET",
            f"/api/v1{path}",
            params={name: _print(value) for name, value in parameters.items() if value is not None},
            headers=dict(headers),
            timeout=httpx.Timeout(silence_seconds, connect=CONNECT_SECONDS),
        )
        try:
            answer = await self._http.send(request, stream=True)
            try:
                if not answer.is_success:
                    await answer.aread()
                    self._raise_problem(answer)
                async for line in _split_lines(answer.aiter_bytes()):
                    yield line
            finally:
                await answer.aclose()
        except httpx.HTTPError as error:
            raise _no_answer(error) from error

    async def _send(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, object] | None = None,
        extensions: Mapping[str, object] | None = None,
    ) -> httpx.Response:
        # Python's own JSON: a confidence of NaN and a lone surrogate are the server's to judge.
        content = None if body is None else json.dumps(body, default=_encode).encode()
        seconds = None if self._policy is None else self._policy.total_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._http.request(
                    method,
                    f"/api/v1{path}",
                    content=content,
                    params={name: _print(value) for name, value in (parameters or {}).items() if value is not None},
                    headers={**(headers or {}), **({} if content is None else JSON)},
                    extensions=dict(extensions or {}),
                )
        except TimeoutError as error:
            raise Unavailable("client_timeout", url=self.base_url, seconds=seconds) from error
        except httpx.HTTPError as error:
            raise _no_answer(error) from error

    def _read(self, view: type[V], answer: httpx.Response) -> V:
        if not answer.is_success:
            self._raise_problem(answer)
        try:
            return view.model_validate_json(answer.content)
        except ValidationError as error:
            raise self._strange_answer(answer) from error

    def _raise_problem(self, answer: httpx.Response) -> NoReturn:
        """Raise the error that the problem of an answer stands for."""
        try:
            problem = ProblemView.model_validate_json(answer.content)
        except ValidationError as error:
            raise self._strange_answer(answer) from error
        if self._acts_for_agent and problem.type in PERSONS_RIGHTS:
            raise error_from(problem, advice=say("client_acts_for_agent", self._language))
        raise error_from(problem)

    def _strange_answer(self, answer: httpx.Response) -> Unavailable:
        return Unavailable("client_strange_answer", url=self.base_url, status=answer.status_code)


def rename(fields: Mapping[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """Rename fields to their names in the API."""
    return {names.get(name, name): value for name, value in fields.items()}


def segment(name: str) -> str:
    """Encode a name as a segment of a path."""
    return quote(name, safe="")


def _drop_none(fields: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _encode(value: object) -> object:
    """Encode what JSON has no type for. Raises InvalidInput."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, UUID | datetime):
        return _print(value)
    raise InvalidInput("metadata_type", field="metadata", type=type(value).__name__)


def _print(value: object) -> str | list[str]:
    """A parameter as text, or as several of the same name."""
    if isinstance(value, list | tuple):
        return [str(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _no_answer(error: httpx.HTTPError) -> Unavailable:
    url = str(error.request.url.copy_with(raw_path=b"/")).rstrip("/")
    return Unavailable("client_no_answer", url=url, reason=str(error) or type(error).__name__)


async def _split_lines(parts: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The lines of a text that arrives in parts. Of the line ends that Unicode knows, only those of ASCII count."""
    rest = b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r").decode()


def _tls_context(base_url: str) -> ssl.SSLContext:
    """Read the system certificates only if they are needed, because that takes longer than a request."""
    return ssl.create_default_context() if base_url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
