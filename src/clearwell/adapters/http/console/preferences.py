"""Language and theme, kept in cookies of this browser."""

from fastapi import APIRouter
from starlette.responses import Response

from clearwell.adapters.http.console.request import ConsoleRequest, OpenConsoleRoute
from clearwell.adapters.http.console.sign_in import own_path
from clearwell.messages import is_language

router = APIRouter(include_in_schema=False, route_class=OpenConsoleRoute)


@router.post("/preferences")
async def change(request: ConsoleRequest) -> Response:
    language, theme = request.sent.get("language"), request.sent.get("theme")
    if is_language(language):
        request.cookies_of_console.set("language", language)
    if theme in ("light", "dark", "auto"):
        request.cookies_of_console.set("theme", None if theme == "auto" else theme)
    return request.redirect(own_path(request.sent.get("next", "/")))
