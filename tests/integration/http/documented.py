"""A server in a process of its own, full of things to ask for, and callers of every kind."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from clearwell.app import open_clearwell
from clearwell.models import OfflineEmbedder
from clearwell.records import Principal, Right
from clearwell.settings import Settings
from tests.integration.cli.program import Program, Serving
from tests.integration.http.serving import servers_of
from tests.integration.http.test_isolation import MAKERS, Place

GROUP = "edge"
EXAMPLES = int(os.environ.get("EDGE_EXAMPLES", "2"))
"""For each operation; ``make test-edge`` tries more."""
KINDS: Mapping[str, frozenset[Right] | None] = {
    "nobody": None,
    "agent": frozenset({Right.CAPTURE, Right.READ}),
    "reviewer": frozenset({Right.READ, Right.REVIEW}),
    "operator": frozenset(Right),
}


@dataclass(frozen=True)
class Edge:
    """The address of the server, what the callers send to identify themselves, and ids of things by their kind."""

    url: str
    headers: Mapping[str, Mapping[str, str]]
    names: Mapping[str, str]
    serving: Serving


@asynccontextmanager
async def serve_full(settings: Settings, embedder: OfflineEmbedder, folder: Path) -> AsyncIterator[Edge]:
    """``clearwell serve`` on these stores, once they hold one of everything."""
    headers, names = await _fill(settings, embedder)
    servers = servers_of(settings)
    environment = {
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": servers.redis_url,
        "CLEARWELL_DATA_DIR": str(settings.data_dir),
        "CLEARWELL_KEY_REQUESTS_PER_MINUTE": "0",
    }
    with Program(folder, environment).serving() as serving:
        yield Edge(serving.url, headers, names, serving)


async def _fill(
    settings: Settings, embedder: OfflineEmbedder
) -> tuple[dict[str, Mapping[str, str]], Mapping[str, str]]:
    """Make one of each kind of thing, and a key for each kind of caller."""
    by = Principal.local("test")
    headers: dict[str, Mapping[str, str]] = {}
    async with open_clearwell(settings, servers_of(settings), embedder=embedder) as clearwell:
        for kind, rights in KINDS.items():
            secret = None
            if rights is not None:
                _, secret = await clearwell.keys.create(name=kind, rights=rights, groups=None, by=by)
            headers[kind] = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        place = Place(clearwell, GROUP)
        for name, make in MAKERS.items():
            place.made.setdefault(name, str(await make(place)))
        return headers, {**place.made, "group": GROUP}
