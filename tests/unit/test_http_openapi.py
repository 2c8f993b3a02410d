"""The OpenAPI document is complete, and its page needs nothing from another host."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from clearwell.adapters.http import create_app, openapi
from clearwell.adapters.http.api import captures, context, factcheck, groups, memory
from clearwell.settings import Settings

ROUTES = {
    ("post", "/api/v1/captures"),
    ("post", "/api/v1/forget/preview"),
    ("post", "/api/v1/forget"),
    ("get", "/api/v1/export"),
    ("post", "/api/v1/import"),
    ("post", "/api/v1/quarantine/{id}/assign"),
    ("get", "/api/v1/keys"),
    ("post", "/api/v1/keys"),
    ("post", "/api/v1/keys/{id}/revoke"),
    ("get", "/api/v1/settings"),
    ("post", "/api/v1/demo"),
    ("get", "/api/v1/audit"),
    ("get", "/api/v1/audit/head"),
    ("post", "/api/v1/audit/verify"),
    ("post", "/api/v1/memory/ingest"),
    ("post", "/api/v1/memory/query"),
    ("get", "/api/v1/quarantine"),
    ("get", "/api/v1/quarantine/{id}"),
    ("post", "/api/v1/quarantine/{id}/admit"),
    ("post", "/api/v1/quarantine/{id}/requeue"),
    ("post", "/api/v1/quarantine/requeue"),
    ("get", "/api/v1/working/{group_id}"),
    ("delete", "/api/v1/working/{group_id}/{id}"),
    ("post", "/api/v1/ingress/check"),
    ("get", "/api/v1/ingress/counts"),
    ("get", "/api/v1/tombstones"),
    ("post", "/api/v1/tombstones"),
    ("post", "/api/v1/tombstones/{id}/lift"),
    ("post", "/api/v1/context"),
    ("post", "/api/v1/nodes/memory_retrieval"),
    ("post", "/api/v1/memory/fact_check"),
    ("post", "/api/v1/nodes/fact_check"),
    ("post", "/api/v1/digests"),
    ("get", "/api/v1/digests"),
    ("get", "/api/v1/digests/{id}"),
    ("get", "/api/v1/groups"),
    ("get", "/api/v1/ids"),
    ("get", "/api/v1/groups/{group_id}"),
    ("put", "/api/v1/groups/{group_id}"),
    ("get", "/api/v1/groups/{group_id}/agents"),
    ("get", "/api/v1/groups/{group_id}/agents/{agent_id}"),
    ("put", "/api/v1/groups/{group_id}/agents/{agent_id}"),
    ("delete", "/api/v1/groups/{group_id}/agents/{agent_id}"),
    ("get", "/api/v1/insights"),
    ("get", "/api/v1/insights/{id}"),
    ("post", "/api/v1/insights/decide"),
    ("post", "/api/v1/insights/{id}/promote"),
    ("post", "/api/v1/insights/{id}/reject"),
    ("post", "/api/v1/insights/{id}/merge"),
    ("post", "/api/v1/insights/{id}/snooze"),
    ("post", "/api/v1/insights/{id}/undo"),
    ("post", "/api/v1/quarantine/{id}/promote"),
    ("post", "/api/v1/quarantine/promote"),
    ("get", "/api/v1/quarantine/{id}/influence"),
    ("post", "/api/v1/working/{group_id}/{id}/promote"),
    ("get", "/api/v1/memories"),
    ("get", "/api/v1/memories/{id}"),
    ("post", "/api/v1/memories/{id}/withdraw"),
    ("get", "/api/v1/memories/{id}/origin"),
    ("get", "/api/v1/memories/{id}/promotion"),
    ("post", "/api/v1/memories/retract"),
    ("get", "/api/v1/decisions"),
    ("post", "/api/v1/decisions/{id}/undo"),
    ("get", "/api/v1/review/calibration"),
    ("get", "/api/v1/review/activity"),
    ("get", "/api/v1/review/counts"),
    ("get", "/api/v1/review/numbers"),
    ("get", "/api/v1/events"),
    ("get", "/metrics"),
    ("get", "/healthz"),
    ("get", "/readyz"),
}
BODIES: dict[str, dict[str, type[BaseModel]]] = {
    "/api/v1/captures": {"one": captures.CaptureInput, "many": captures.CaptureBatch},
    "/api/v1/memory/ingest": {"one": memory.IngestInput, "many": memory.IngestBatch},
    "/api/v1/memory/query": {"query": memory.QueryInput, "options": memory.QueryInput, "recent": memory.QueryInput},
    "/api/v1/ingress/check": {"one": captures.CheckInput},
    "/api/v1/tombstones": {"one": groups.TombstoneInput},
    "/api/v1/context": {"one": context.ContextInput},
    "/api/v1/nodes/memory_retrieval": {"one": context.NodeInput},
    "/api/v1/memory/fact_check": {"one": factcheck.FactCheckInput},
    "/api/v1/nodes/fact_check": {"one": factcheck.FactCheckNodeInput},
}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app(Settings())


@pytest.fixture(scope="module")
def document(app: FastAPI) -> dict[str, Any]:
    return app.openapi()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method, path, operation


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "$ref":
                yield inner
            yield from references(inner)
    if isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_every_route_is_there(document: dict[str, Any]) -> None:
    assert {(method, path) for method, path, _ in operations(document)} == ROUTES


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    found = set(references(document))
    assert found
    for reference in found:
        place: Any = document
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]


def test_every_route_is_described(document: dict[str, Any]) -> None:
    for _, path, operation in operations(document):
        assert operation["summary"], path
        assert operation["tags"], path
        for status, answer in operation["responses"].items():
            assert answer["description"]
            kind = "application/problem+json" if int(status) >= 400 else "application/json"
            if (path, status) == ("/metrics", "200"):
                kind = "text/plain; version=0.0.4; charset=utf-8"
            if (path, status) == ("/api/v1/export", "200"):
                kind = "application/x-ndjson"
            if (path, status) == ("/api/v1/events", "200"):
                kind = "text/event-stream"
            assert list(answer["content"]) == [kind], (path, status)
            schema = "itemSchema" if kind == "text/event-stream" else "schema"
            assert answer["content"][kind][schema], (path, status)


def test_every_route_of_the_api_names_the_key_its_headers_and_its_problems(document: dict[str, Any]) -> None:
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for method, path, operation in operations(document):
        if path.startswith("/api/"):
            assert operation["security"] == [{"key": []}, {}]
            assert {"401", "403", "422", "500", "503"} <= set(operation["responses"])
            names = {one.get("$ref", "").rpartition("/")[2] for one in operation["parameters"]}
            assert {"AcceptLanguage", "Actor"} <= names
            asks = path in openapi.QUESTIONS
            assert ("IdempotencyKey" in names) == (method in ("post", "put", "delete") and not asks)


def test_the_examples_are_accepted_and_some_are_chinese(document: dict[str, Any]) -> None:
    for path, models in BODIES.items():
        examples = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["examples"]
        assert set(examples) == set(models)
        for name, model in models.items():
            model.model_validate(examples[name]["value"])
        assert re.search("[\u4e00-\u9fff]", str(examples))


def test_unknown_fields_are_refused_in_the_schemas_too(document: dict[str, Any]) -> None:
    for models in BODIES.values():
        for model in models.values():
            assert document["components"]["schemas"][model.__name__]["additionalProperties"] is False


async def get(app: FastAPI, path: str) -> httpx.Response:
    """Without its lifespan: these pages need no server."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        return await client.get(path)


async def test_the_page_loads_nothing_and_runs_nothing(app: FastAPI) -> None:
    response = await get(app, "/docs")
    assert response.status_code == 200
    assert not re.search(r"<script|<link|<img|<iframe|@import|url\(|src=|https?://", response.text)
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["x-frame-options"] == "DENY"
    for _, path in ROUTES:
        assert path in response.text
    assert "项目最终决定采用微服务架构" in response.text


async def test_the_framework_serves_no_page_of_its_own(app: FastAPI) -> None:
    assert (await get(app, "/redoc")).status_code == 404
    assert (await get(app, "/openapi.json")).json()["info"]["title"] == "Clearwell"
