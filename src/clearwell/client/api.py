"""Requests to one server: bodies and parameters out, views or errors back."""

import json
import ssl
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from clearwell.client.problems import error_from
from clearwell.errors import Unavailable
from clearwell.messages import Language
from clearwell.views.problems import ProblemView
from clearwell.views.view import View

V = TypeVar("V", bound=View)

CONNECT_SECONDS = 5.0
PROBE_SECONDS = 2.0
JSON = {"Content-Type": "application/json"}


class ApiConnection:
    """Sends requests to ``base_url``. Every method raises the errors of the library.

    ``secret`` is an API key, or the token of a server file. With ``acts_for_agent`` the caller has no more rights than
    an agent. ``transport`` replaces the network: an ASGI transport drives a program in this process.
    """

    def __init__(
        self,
        base_url: str,
        *,
        secret: str | None = None,
        language: Language = "en",
        acts_for_agent: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        headers: dict[str, str] = {"Accept-Language": language}
        if secret is not None:
            headers["Authorization"] = f"Bearer {secret}"
        if acts_for_agent:
            headers["Clearwell-Actor"] = "agent"
        self.base_url = base_url
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers=headers,
            transport=transport or httpx.AsyncHTTPTransport(verify=_tls_context(base_url)),
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
        return await self.request(view, "GET", path, None, **parameters)

    async def post(self, view: type[V], path: str, fields: Mapping[str, object], **parameters: object) -> V:
        """Send a body without the fields that are None, so that the defaults of the server apply."""
        body = {name: value for name, value in fields.items() if value is not None}
        return await self.request(view, "POST", path, body, **parameters)

    async def request(
        self, view: type[V], method: str, path: str, body: Mapping[str, object] | None = None, **parameters: object
    ) -> V:
        # Python's own JSON: a confidence of NaN and a lone surrogate are the server's to judge.
        content = None if body is None else json.dumps(body, default=str).encode()
        given = {name: str(value) for name, value in parameters.items() if value is not None}
        try:
            answer = await self._http.request(
                method, f"/api/v1{path}", content=content, params=given, headers=JSON if content else None
            )
        except httpx.HTTPError as error:
            raise Unavailable(
                "client_no_answer", url=self.base_url, reason=str(error) or type(error).__name__
            ) from error
        return self._read(view, answer)

    def _read(self, view: type[V], answer: httpx.Response) -> V:
        try:
            if answer.is_success:
                return view.model_validate_json(answer.content)
            problem = ProblemView.model_validate_json(answer.content)
        except ValidationError as error:
            raise Unavailable("client_strange_answer", url=self.base_url, status=answer.status_code) from error
        raise error_from(problem)


def rename(fields: Mapping[str, object], names: Mapping[str, str]) -> dict[str, object]:
    """Rename fields to their names in the API."""
    return {names.get(name, name): value for name, value in fields.items()}


def segment(name: str) -> str:
    """Encode a name as a segment of a path."""
    return quote(name, safe="")


def _tls_context(base_url: str) -> ssl.SSLContext:
    """Read the system certificates only if they are needed, because that takes longer than a request."""
    return ssl.create_default_context() if base_url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
