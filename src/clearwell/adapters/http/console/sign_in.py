"""Sign in with a key of a person, and out again."""

from fastapi import APIRouter
from starlette.responses import Response

from clearwell.adapters.http.console.request import ConsoleRequest, OpenConsoleRoute
from clearwell.errors import NotAllowed, Unauthenticated

router = APIRouter(include_in_schema=False, route_class=OpenConsoleRoute)


@router.get("/sign-in")
async def show(request: ConsoleRequest, next: str = "/", why: str = "") -> Response:
    reason = "console_signed_out" if why == "signed_out" else "console_session_ended" if why == "session_ended" else ""
    return request.page("sign_in.html", next=own_path(next), note=reason, problem=None)


@router.post("/sign-in")
async def sign_in(request: ConsoleRequest) -> Response:
    target = own_path(request.sent.get("next", "/"))
    try:
        token = await request.clearwell.keys.start_session(request.sent.get("key", "").strip())
    except (Unauthenticated, NotAllowed) as error:
        request.clearwell.gate.record_stranger(error)
        problem = error.text(request.language)
        return request.page("sign_in.html", status=403, next=target, note="", problem=problem)
    request.cookies_of_console.set("session", token)
    return request.redirect(target)


@router.post("/sign-out")
async def sign_out(request: ConsoleRequest) -> Response:
    token = request.cookies_of_console.get("session")
    if token is not None:
        await request.clearwell.keys.end_session(token)
        request.cookies_of_console.set("session", None)
    return request.redirect("/sign-in?why=signed_out")


def own_path(path: str) -> str:
    """A path of this server; the start page if it would lead anywhere else."""
    is_own = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if is_own else "/"
