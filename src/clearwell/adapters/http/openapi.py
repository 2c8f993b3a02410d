"""The OpenAPI document: bodies and answers by reference, problems, the key, and the headers of every route."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from clearwell.adapters.http.problems import MEDIA_TYPE
from clearwell.adapters.http.schemas.problems import Problem

Document = dict[str, Any]
TEMPLATE = "#/components/schemas/{model}"

MODELS: dict[str, type[BaseModel]] = {}
"""Every model that a route refers to, by its name in the document."""

PROBLEMS: Mapping[int, str] = {
    400: "The request cannot be read.",
    401: "A valid key is needed.",
    403: "The caller may not do this, or not in this group.",
    404: "No such row in this group.",
    409: "It does not fit what is there now, which current says; or the first request with this key has not ended.",
    413: "Text or body above its limit.",
    415: "The body is not application/json.",
    422: "A value is not acceptable; field and limit say which and why.",
    500: "Clearwell failed; the log says why.",
    503: "A part that is needed does not answer.",
}

QUESTIONS = ("/api/v1/memory/query", "/api/v1/ingress/check", "/api/v1/context", "/api/v1/nodes/memory_retrieval")
"""Routes that only ask, though they are posted to."""

READS = (401, 403, 422, 500, 503)
QUERIES = (400, 401, 403, 413, 415, 422, 500, 503)
WRITES = (400, 401, 403, 409, 413, 415, 422, 500, 503)

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
        "description": "Lowers the caller's rights to those of an agent: capture and read.",
        "schema": {"type": "string", "enum": ["agent"]},
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A name for this request. Sent again with the same body it is answered, not done again.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
    },
}


def ref(model: type[BaseModel]) -> Document:
    """A reference to a model, which the document then has."""
    if MODELS.setdefault(model.__name__, model) is not model:
        raise ValueError(f"two models of the API are called {model.__name__}")
    return {"$ref": TEMPLATE.format(model=model.__name__)}


def body(*models: type[BaseModel], examples: Mapping[str, object]) -> Document:
    """The part of an operation that describes its body."""
    schema = ref(models[0]) if len(models) == 1 else {"oneOf": [ref(model) for model in models]}
    shown = {name: {"value": value} for name, value in examples.items()}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema, "examples": shown}}}}


def responses(answers: Mapping[int, tuple[str, Sequence[type[BaseModel]]]], problems: Sequence[int]) -> Any:
    """The answers of an operation, good and bad."""
    problem = {MEDIA_TYPE: {"schema": ref(Problem)}}
    found: dict[int, Document] = {status: {"description": PROBLEMS[status], "content": problem} for status in problems}
    for status, (description, models) in answers.items():
        schema = ref(models[0]) if len(models) == 1 else {"oneOf": [ref(model) for model in models]}
        found[status] = {"description": description, "content": {"application/json": {"schema": schema}}}
    return found


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
    _, definitions = models_json_schema([(model, "validation") for model in MODELS.values()], ref_template=TEMPLATE)
    components = document.setdefault("components", {})
    components.setdefault("schemas", {}).update(definitions["$defs"])
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
