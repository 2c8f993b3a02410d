"""The OpenAPI document: FastAPI derives bodies and answers from models; added are problems, the key and the headers."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.models import Example
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from clearwell.views.problems import ProblemView

Document = dict[str, Any]
PROBLEM_TYPE = "application/problem+json"

PROBLEMS: Mapping[int, str] = {
    400: "The request is unreadable.",
    401: "A valid key is required.",
    403: "The caller may not do this, or not in this group.",
    404: "There is nothing with this id in the group.",
    408: "The body did not arrive in time.",
    409: "The request conflicts with the current state, or the first request with this key is still running.",
    413: "A text or the body is too large.",
    415: "The body is not application/json.",
    422: "A value is invalid; see field and limit.",
    429: "The key has sent too many requests; see Retry-After.",
    500: "An internal error; see the log of the server.",
    503: "A required component does not respond.",
}

QUESTIONS = (
    "/api/v1/memory/query",
    "/api/v1/memory/fact_check",
    "/api/v1/ingress/check",
    "/api/v1/context",
    "/api/v1/nodes/memory_retrieval",
    "/api/v1/nodes/fact_check",
    "/api/v1/audit/verify",
    "/api/v1/forget/preview",
)
"""Routes with POST that change nothing."""

READS = (401, 403, 422, 429, 500, 503)
QUERIES = (400, 401, 403, 408, 413, 415, 422, 429, 500, 503)
WRITES = (400, 401, 403, 408, 409, 413, 415, 422, 429, 500, 503)

HEADERS: Mapping[str, Document] = {
    "AcceptLanguage": {
        "name": "Accept-Language",
        "in": "header",
        "description": "zh or en: the language of problems, reasons and labels. English by default.",
        "schema": {"type": "string"},
        "example": "zh-CN",
    },
    "Actor": {
        "name": "Clearwell-Actor",
        "in": "header",
        "description": "Reduces the rights of the caller to those of an agent: capture and read.",
        "schema": {"type": "string", "enum": ["agent"]},
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A name for this request. A repeated request gets the first answer and is not executed again.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    },
}


def examples(**values: object) -> dict[str, Example]:
    """Examples of a body, by their names."""
    return {name: Example(value=value) for name, value in values.items()}


def reference(model: type[BaseModel]) -> Document:
    """A reference to a model that FastAPI puts into the document."""
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def problems(*statuses: int) -> dict[int | str, Document]:
    """The problems that a route may answer with."""
    content = {PROBLEM_TYPE: {"schema": reference(ProblemView)}}
    return {status: {"description": PROBLEMS[status], "content": content} for status in statuses}


def complete(app: FastAPI) -> Document:
    """The whole document. Made once, when it is first asked for."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, description=app.description, routes=app.routes
        )
        _add_components(document)
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _add_headers(path, method, operation)
        app.openapi_schema = document
    return app.openapi_schema


def _add_components(document: Document) -> None:
    components = document["components"]
    components["parameters"] = dict(HEADERS)
    components["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "A key made with clearwell keys create. In local mode (loopback, no key ever made) none.",
        }
    }


def _add_headers(path: str, method: str, operation: Document) -> None:
    if not path.startswith("/api/"):
        return
    operation["security"] = [{"key": []}, {}]
    names = ["AcceptLanguage", "Actor"]
    if method in ("post", "put", "delete") and path not in QUESTIONS:
        names.append("IdempotencyKey")
    operation.setdefault("parameters", []).extend({"$ref": f"#/components/parameters/{name}"} for name in names)
