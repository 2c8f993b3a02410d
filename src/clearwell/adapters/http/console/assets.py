"""Scripts, styles and fonts, from memory. Their address has a hash of all of them, so that a browser keeps them."""

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from clearwell.adapters.http.problems import HttpRefusal, make_printable

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent / "static"
COMPRESSED = {"text/css", "text/javascript", "image/svg+xml"}
KEPT = "public, max-age=31536000, immutable"
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent. ``compressed`` is None where that would not make it smaller."""

    media_type: str
    content: bytes
    compressed: bytes | None
    tag: str


@cache
def assets() -> dict[str, Asset]:
    """All files by their path below the folder."""
    paths = (path for path in sorted(FOLDER.rglob("*")) if path.suffix in TYPES)
    return {path.relative_to(FOLDER).as_posix(): _read(path) for path in paths}


@cache
def version() -> str:
    """Changes when any file does."""
    told = "".join(f"{name} {asset.tag}\n" for name, asset in assets().items())
    return sha256(told.encode()).hexdigest()[:12]


def asset_url(name: str) -> str:
    """The address of a file. Raises KeyError if there is none."""
    assets()[name]
    return f"/static/{version()}/{name}"


@router.get("/static/{wanted}/{name:path}")
async def read_asset(request: Request, wanted: str, name: str) -> Response:
    asset = assets().get(name)
    if asset is None:
        raise HttpRefusal("http_no_route", 404, path=make_printable(request.scope["path"]))
    headers = {
        "ETag": f'"{asset.tag}"',
        "Cache-Control": KEPT if wanted == version() else "no-cache",
        "X-Content-Type-Options": "nosniff",
        "Vary": "Accept-Encoding",
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    if asset.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.compressed, headers={**headers, "Content-Encoding": "gzip"}, media_type=asset.media_type)
    return Response(asset.content, headers=headers, media_type=asset.media_type)


def _read(path: Path) -> Asset:
    content = path.read_bytes()
    media_type = TYPES[path.suffix]
    compressed = gzip.compress(content, 9, mtime=0) if media_type in COMPRESSED else None
    return Asset(media_type, content, compressed, sha256(content).hexdigest()[:32])
