"""The cookies of the console, and the token that proves that a change comes from one of its pages.

``session`` is the token of ``KeyRing.start_session``, never a key. ``visit`` is a random value of this browser. The
token of a form is made from both, so that a page of another program on the same host, which shares cookies whatever
its port, can neither guess nor set it. ``notice`` is the code of what a change did, until the next page has said it.
"""

import hmac
import secrets
from hashlib import sha256
from typing import Literal

from starlette.requests import HTTPConnection
from starlette.responses import Response

Name = Literal["session", "visit", "language", "theme", "group", "notice"]
YEAR = 365 * 24 * 3600


class Cookies:
    """The cookies of one request. Their names have the port, because cookies of a host are shared by its ports."""

    def __init__(self, request: HTTPConnection, *, port: int) -> None:
        self._request = request
        self._port = port
        self._visit = self.get("visit")
        self._changes: dict[Name, str | None] = {}
        if self._visit is None:
            self._visit = secrets.token_urlsafe(24)
            self._changes["visit"] = self._visit

    def get(self, name: Name) -> str | None:
        return self._request.cookies.get(self._full_name(name)) or None

    def set(self, name: Name, value: str | None) -> None:
        """Set a cookie with the answer, or remove it."""
        self._changes[name] = value

    @property
    def form_token(self) -> str:
        """What every form of this browser has to send back."""
        secret = f"{self._visit}\n{self.get('session') or ''}"
        return hmac.new(secret.encode(), b"form of the console", sha256).hexdigest()

    def is_form_token(self, token: str) -> bool:
        return hmac.compare_digest(self.form_token.encode(), token.encode("utf-8", "surrogateescape"))

    def write(self, response: Response) -> None:
        for name, value in self._changes.items():
            if value is None:
                response.delete_cookie(self._full_name(name), path="/")
                continue
            response.set_cookie(
                self._full_name(name),
                value,
                max_age=None if name in {"session", "visit", "notice"} else YEAR,
                path="/",
                secure=is_secure(self._request),
                httponly=True,
                samesite="strict",
            )

    def _full_name(self, name: Name) -> str:
        return f"clearwell_{name}_{self._port}"


def is_secure(request: HTTPConnection) -> bool:
    """Whether the browser came by TLS, to this server or to a proxy before it."""
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    return request.scope["scheme"] == "https" or forwarded == "https"
