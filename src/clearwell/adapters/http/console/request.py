"""A request of the console: who is signed in, what a form sent, and how an error is shown.

A person is known by the session cookie; without any key ever created it is the person at this machine, as in the API.
A change is a POST with the token of a form, in a field or in the header that htmx sends.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, quote

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.responses import RedirectResponse, Response

from clearwell.adapters.http.callers import is_loopback, require_local
from clearwell.adapters.http.console.cookies import Cookies
from clearwell.adapters.http.console.templates import Notice, PageContext, Theme, render
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.problems import WrongContentType, invalid_request, log_problem, make_printable
from clearwell.adapters.http.request import ApiRequest, Handler, PlainRoute
from clearwell.errors import ClearwellError, Conflict, InvalidInput, NotAllowed, Unauthenticated
from clearwell.messages import Language, catalogue, is_language, say
from clearwell.records import Principal, Right
from clearwell.views.problems import ProblemView, status_of

FORM = "application/x-www-form-urlencoded"
TOKEN_FIELD, TOKEN_HEADER = "form_token", "x-form-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Vary": "Cookie, Accept-Language, HX-Request",
}
UNACKNOWLEDGED = "promotion_unacknowledged"
NOTICE = "console_notice_"
"""How the codes begin of what a page can say about the change that led to it."""
NOBODY_YET = Principal(name="", rights=frozenset())


class ConsoleRequest(ApiRequest):
    """A request of a page, after its caller was found and the token of its form was checked."""

    caller = NOBODY_YET
    sent: Mapping[str, str] = {}
    """The fields of a form, each with its last value."""
    sent_all: tuple[tuple[str, str], ...] = ()
    local_mode_ended = False
    """Whether this request created the first key, so that the person at this machine has to sign in next."""

    @cached_property
    def cookies_of_console(self) -> Cookies:
        return Cookies(self, port=self.clearwell.settings.port)

    @cached_property
    def language(self) -> Language:
        chosen = self.cookies_of_console.get("language")
        return chosen if is_language(chosen) else language_of(self)

    @property
    def theme(self) -> Theme:
        match self.cookies_of_console.get("theme"):
            case "light" | "dark" as chosen:
                return chosen
            case _:
                return "auto"

    @property
    def is_fragment(self) -> bool:
        """Whether htmx asks for a part of a page."""
        return "hx-request" in self.headers and "hx-boosted" not in self.headers

    @property
    def acknowledged(self) -> tuple[str, ...]:
        """What the person has said to have seen in the text to promote."""
        return tuple(value for name, value in self.sent_all if name == "acknowledge")

    @property
    def may_administer(self) -> bool:
        return Right.ADMIN in self.caller.rights

    @property
    def may_read(self) -> bool:
        """Whether the key may read working memory and ask as agents do. Asked without it, that is a refusal."""
        return Right.READ in self.caller.rights

    @property
    def is_local(self) -> bool:
        """Whether the caller is the person at this machine, without a key."""
        return self.caller.name == "local"

    async def key_names(self) -> Mapping[str, str]:
        """What those who act are called: keys by their names, and whoever has no key in the reader's language."""
        own = {actor: say(f"console_actor_{actor}", self.language) for actor in ("local", "worker")}
        return {**own, **await super().key_names()}

    async def authenticate(self, *, again: bool = False) -> None:  # noqa: ARG002 - people are not counted
        """Identify the person. Raises Unauthenticated or NotAllowed."""
        token = self.cookies_of_console.get("session")
        keys = self.clearwell.keys
        if token is not None:
            self.caller = await keys.authenticate_session(token)
            return
        self.caller = await keys.authenticate(None, local=is_loopback(self.clearwell.settings.host))
        require_local(self, port=self.clearwell.settings.port)

    async def read_form(self) -> None:
        """Read the fields of a form and check its token. Raises NotAllowed."""
        site = self.headers.get("sec-fetch-site", "none")
        if site not in {"same-origin", "none"}:
            raise NotAllowed("console_foreign_form", origin=make_printable(site))
        kind = self.headers.get("content-type", FORM)
        if kind.partition(";")[0].strip().lower() != FORM:
            raise WrongContentType("console_form_type", found=make_printable(kind))
        body = await self.receive_all()
        self.sent_all = tuple(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        self.sent = dict(self.sent_all)
        token = self.headers.get(TOKEN_HEADER) or self.sent.get(TOKEN_FIELD, "")
        if not self.cookies_of_console.is_form_token(token):
            raise NotAllowed("console_form_token")

    def page(self, template: str, *, group: str | None = None, status: int = 200, **values: Any) -> Response:
        """Render a template of a page, or of a part of one. ``group`` is the group that the page is about."""
        if group is not None and self.cookies_of_console.get("group") != quote(group, safe=""):
            self.cookies_of_console.set("group", quote(group, safe=""))
        notice = None if self.is_fragment else self._take_notice()
        return render(template, self._context(group, notice), status=status, **values)

    def redirect(self, path: str, *, notice: str | Notice | None = None) -> Response:
        """Lead to another page of the console, also from a part of one. That page says the ``notice``, once."""
        if notice is not None:
            said = Notice(notice) if isinstance(notice, str) else notice
            self.cookies_of_console.set("notice", f"{said.code}:{said.removed}:{int(said.has_left)}")
        if self.is_fragment:
            return Response(status_code=204, headers={"HX-Redirect": path})
        return RedirectResponse(path, status_code=303)

    def show_problem(self, error: ClearwellError) -> Response:
        """An error as a page, or as a message on the page that asked."""
        if isinstance(error, Unauthenticated):
            return self._lead_to_sign_in(error)
        if isinstance(error, Conflict) and error.code == UNACKNOWLEDGED:
            return self._ask_to_acknowledge(error)
        problem = ProblemView.from_error(error, self.language, status=getattr(error, "status", None))
        log_problem(self, error, problem)
        template = "problem_toast.html" if self.is_fragment else "problem.html"
        return render(template, self._context(self._known_group()), status=problem.status, problem=problem)

    def finish(self, response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        self.cookies_of_console.write(response)
        return response

    def _ask_to_acknowledge(self, refusal: Conflict) -> Response:
        """The form that was sent, once more, with what the person must have seen in the text: a dialog or a page."""
        target = self.headers.get("hx-target", "") if self.is_fragment else ""
        response = self.page(
            "acknowledge_dialog.html" if self.is_fragment else "acknowledge.html",
            status=200 if self.is_fragment else status_of(refusal),
            fields=[(name, value) for name, value in self.sent_all if name not in (TOKEN_FIELD, "acknowledge")],
            flags=refusal.current["acknowledge"],
            shown=refusal.current["shown"],
            texts=refusal.current["texts"],
            target=target or ("main" if self.is_fragment else ""),
            back=self.headers.get("referer", "/"),
        )
        if self.is_fragment:
            response.headers.update({"HX-Retarget": "#dialog", "HX-Reswap": "innerHTML"})
        return response

    def _lead_to_sign_in(self, error: Unauthenticated) -> Response:
        if self.cookies_of_console.get("session") is not None:
            self.cookies_of_console.set("session", None)
        wanted = self._page_address() if self.is_fragment else self._own_address()
        return self.redirect(f"/sign-in?next={quote(wanted)}&why={error.code}")

    def _own_address(self) -> str:
        """The path of this request with its query."""
        path, query = quote(self.scope["path"]), self.url.query
        return f"{path}?{query}" if query and self.method == "GET" else path

    def _page_address(self) -> str:
        """The path, with its query, of the page that asked for a part."""
        page = self.headers.get("hx-current-url", "").partition("#")[0]
        return "/" + page.partition("://")[2].partition("/")[2]

    def _take_notice(self) -> Notice | None:
        """What the last change did, if the cookie says it. It is said once."""
        kept = self.cookies_of_console.get("notice")
        if kept is None:
            return None
        self.cookies_of_console.set("notice", None)
        code, _, rest = kept.partition(":")
        removed, _, left = rest.partition(":")
        if not code.startswith(NOTICE) or code not in catalogue():
            return None
        return Notice(code, int(removed) if removed.isdecimal() else 0, left == "1")

    def _known_group(self) -> str | None:
        """The group of the address, if the person has rights in it: the menu of a problem leads to its pages."""
        group = self.path_params.get("group")
        return group if group and self.caller.rights and self.caller.covers(group) else None

    def _context(self, group: str | None, notice: Notice | None = None) -> PageContext:
        cookies = self.cookies_of_console
        return PageContext(
            language=self.language,
            theme=self.theme,
            path=self.url.path,
            group=group,
            caller=self.caller,
            is_local=self.is_local,
            in_local_mode=self.is_local and not self.local_mode_ended,
            may_review=Right.REVIEW in self.caller.rights,
            form_token=cookies.form_token,
            origin=str(self.base_url).rstrip("/"),
            notice=notice,
        )


class ConsoleRoute(PlainRoute):
    """A route of a page: first the person is identified, then the form of a change is read."""

    needs_caller = True

    async def answer(self, handler: Handler, request: Request) -> Response:
        received = ConsoleRequest(request.scope, request.receive)
        try:
            if self.needs_caller:
                await received.authenticate()
            if received.method == "POST":
                await received.read_form()
            response = await super().answer(handler, received)
        except ClearwellError as error:
            response = received.show_problem(error)
        except RequestValidationError as error:
            response = received.show_problem(describe_filters(error) or invalid_request(error.errors()))
        return received.finish(response)


def describe_filters(error: RequestValidationError) -> InvalidInput | None:
    """What is wrong with the filters in the address of a page; None if something else is wrong."""
    flaws = error.errors()
    if not flaws or any(flaw["loc"][:1] != ("query",) for flaw in flaws):
        return None
    named = ", ".join(make_printable(f"{flaw['loc'][-1]}={flaw['input']}") for flaw in flaws)
    return InvalidInput("console_wrong_filter", field=str(flaws[0]["loc"][-1]), filters=named)


class OpenConsoleRoute(ConsoleRoute):
    """A route of the console for people who are not signed in yet."""

    needs_caller = False


def wants_page(request: Request) -> bool:
    """Whether a browser asks for a page, and not a program for an answer of the API."""
    path = request.scope["path"]
    return "text/html" in request.headers.get("accept", "") and not path.startswith(("/api/", "/static/"))


def show_problem(request: Request, error: ClearwellError) -> Response:
    """The page for an error outside of any route of the console."""
    received = ConsoleRequest(request.scope, request.receive)
    return received.finish(received.show_problem(error))
