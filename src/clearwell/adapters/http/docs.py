"""A page that shows the OpenAPI document to people. It is whole in itself: no script, nothing from another host."""

import json
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

router = APIRouter(include_in_schema=False)

Document = dict[str, Any]


@router.get("/docs")
async def page(request: Request) -> Response:
    return HTMLResponse(render_page(json.dumps(request.app.openapi())), headers=_headers())


@cache
def _style() -> str:
    return files(__package__).joinpath("docs.css").read_text(encoding="utf-8")


@cache
def _headers() -> dict[str, str]:
    style = b64encode(sha256(_style().encode()).digest()).decode()
    return {
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
    }


@cache
def render_page(document_text: str) -> str:
    """The page. Cached by the document's text, which stays the same while a process runs."""
    document: Document = json.loads(document_text)
    info = document["info"]
    sections: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            sections.setdefault(operation["tags"][0], []).append(_operation(document, method, path, operation))
    parts = [f"<h2>{escape(tag)}</h2>{''.join(found)}" for tag, found in sections.items()]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title><style>{_style()}</style></head><body>"
        f"<h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1><p>{escape(info['description'])}</p>"
        '<p>For programs: <a href="/openapi.json">/openapi.json</a>. A key is sent as '
        "<code>Authorization: Bearer &lt;key&gt;</code>; in local mode none is needed.</p>"
        f"{''.join(parts)}</body></html>"
    )


def _operation(document: Document, method: str, path: str, operation: Document) -> str:
    return (
        f"<details><summary><b>{method.upper()}</b> <code>{escape(path)}</code> — {escape(operation['summary'])}"
        f"</summary><p>{escape(operation.get('description', ''))}</p>"
        f"{_parameters(document, operation)}{_body(document, operation)}{_answers(document, operation)}</details>"
    )


def _parameters(document: Document, operation: Document) -> str:
    parameters = [_resolve(document, parameter) for parameter in operation.get("parameters", [])]
    if not parameters:
        return ""
    rows = [
        f"<tr><td><code>{escape(parameter['name'])}</code></td><td>{escape(parameter['in'])}</td>"
        f"<td>{escape(parameter.get('description') or parameter['schema'].get('description', ''))}</td></tr>"
        for parameter in parameters
    ]
    return f"<h4>Parameters</h4><table>{''.join(rows)}</table>"


def _body(document: Document, operation: Document) -> str:
    if "requestBody" not in operation:
        return ""
    content = operation["requestBody"]["content"]["application/json"]
    examples = [f"<pre>{_format_json(example['value'])}</pre>" for example in content["examples"].values()]
    return f"<h4>Body</h4>{_fields(document, content['schema'])}<h4>Examples</h4>{''.join(examples)}"


def _answers(document: Document, operation: Document) -> str:
    rows = []
    for status, answer in sorted(operation["responses"].items()):
        fields = "" if int(status) >= 400 else _fields(document, _find_schema(answer))
        rows.append(f"<tr><td><code>{status}</code></td><td>{escape(answer['description'])}{fields}</td></tr>")
    return f"<h4>Answers</h4><table>{''.join(rows)}</table>"


def _find_schema(answer: Document) -> Document:
    """The schema of an answer, or of the data of each event in a stream."""
    (content,) = answer["content"].values()
    schema: Document = content.get("schema") or content["itemSchema"]["properties"]["data"]["contentSchema"]
    return schema


def _fields(document: Document, schema: Document) -> str:
    """The fields of a schema, or of each that it may be."""
    return "".join(_table(document, alternative) for alternative in _alternatives(document, schema))


def _table(document: Document, schema: Document) -> str:
    needed = schema.get("required", [])
    rows = [
        f"<tr><td><code>{escape(name)}</code>{' *' if name in needed else ''}</td>"
        f"<td>{escape(_kind(document, field))}</td><td>{escape(field.get('description', ''))}</td></tr>"
        for name, field in schema.get("properties", {}).items()
    ]
    return f"<p>{escape(schema.get('description', ''))}</p><table>{''.join(rows)}</table>"


def _kind(document: Document, schema: Document) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_kind(document, schema['items'])}"
    if "$ref" in schema:
        found = _resolve(document, schema)
        return _kind(document, found) if "enum" in found else str(schema["$ref"].rpartition("/")[2])
    kinds = [_kind(document, alternative) for alternative in schema.get("anyOf", [])]
    return " | ".join(kinds) or str(schema.get("format") or schema.get("type", "any"))


def _alternatives(document: Document, schema: Document) -> Iterator[Document]:
    for alternative in schema.get("oneOf") or schema.get("anyOf") or [schema]:
        yield _resolve(document, alternative)


def _resolve(document: Document, schema: Document) -> Document:
    if "$ref" not in schema:
        return schema
    found: Document = document
    for step in schema["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return found


def _format_json(value: object) -> str:
    return escape(json.dumps(value, ensure_ascii=False, indent=2))
