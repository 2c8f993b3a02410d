"""Retrieval over HTTP with keep-alive, beside an empty route of the same server, against the bare statement."""

import http.client
import json
from urllib.parse import urlsplit

from bench.blocks import interleaved, table
from bench.embedding_stub import embedding_stub
from bench.ground import FixedEmbedder, analyze, bare_connection, fill, ground
from bench.paths import search_params
from bench.server import serve
from clearwell.stores.postgres.queries import query

BODY = json.dumps({"group_id": "g", "query": "query"}).encode()
EMBEDDING = json.dumps({"model": FixedEmbedder.model, "input": ["query"]}).encode()


async def measure() -> list[str]:
    async with ground() as (clearwell, servers):
        await fill(clearwell, "g", 4000, live=10)
        await analyze(servers.database_url)
        with embedding_stub() as stub, serve(clearwell.settings.data_dir, **stub) as server:
            return await _compare(servers.database_url, server.port, stub["CLEARWELL_EMBEDDING_BASE_URL"])


async def _compare(url: str, port: int, stub_url: str) -> list[str]:
    bare, params = await bare_connection(url), search_params()
    client = http.client.HTTPConnection("127.0.0.1", port)
    stub = http.client.HTTPConnection(urlsplit(stub_url).netloc)

    def ask(connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None) -> None:
        connection.request(method, path, body=body, headers={"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status == 200, text

    async def bare_search() -> None:
        await (await bare.execute(query("search"), params)).fetchall()

    async def empty_route() -> None:
        ask(client, "GET", "/healthz", None)

    async def embedding() -> None:
        ask(stub, "POST", "/v1/embeddings", EMBEDDING)

    async def ours() -> None:
        ask(client, "POST", "/api/v1/memory/query", BODY)

    steps = {
        "bare vector query": bare_search,
        "empty route (healthz)": empty_route,
        "embedding API (stub on loopback)": embedding,
        "POST memory/query": ours,
    }
    times = await interleaved(steps, rounds=20, block=10)
    await bare.close()
    client.close()
    stub.close()
    title = "Retrieve from `clearwell serve`, keep-alive, embedding by a stub on loopback (at most 3 ×)"
    return table(title, times, {name: "bare vector query" for name in steps if name != "bare vector query"})
