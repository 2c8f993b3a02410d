"""Texts, ids, metadata and filters of every kind: what is stored comes back as it was, or is refused with a reason."""

import json
import math
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clearwell.app import Clearwell
from clearwell.errors import ClearwellError, InvalidInput, TooLarge
from clearwell.flow.retrieval.options import RetrieveOptions
from clearwell.records import NewCapture, Principal
from clearwell.settings import Settings
from tests.integration.http.documented import EXAMPLES
from tests.integration.http.serving import Api, served

GROUP = "values"
PERSON = Principal.local()
REFUSED = {400, 413, 422}
ODD = (
    "\x00",
    "a\x00b",
    "\ud800",
    "\udfff tail",
    "\ufeffmark",
    "\uffff\ufffe",
    "\u202egnp.exe",
    "e\u0301 é",
    "\ufdfa" * 300,
    "👩‍👩‍👧‍👦 🏴\U000e0067\U000e0062\U000e007f",
    "Z\u0351\u036b" * 40,
    "\u2028line\u2029paragraph\x85next",
    " leading and trailing \t\r\n",
    "'; DROP TABLE memories; --",
    '"}, {"$ne": null}',
    "$.a[*] ? (@ > 1)",
    "%(group_id)s %s %%",
    "\\u0000 \\x00 \\",
    "9" * 400,
    "ﬃ ① ｶﾞ 한글 ꜩ 𝔘𝔫𝔦",
)
"""Each has brought a store, a driver or a parser into trouble somewhere."""
texts = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=()), max_size=60), st.text())
numbers = st.one_of(
    st.integers(),
    st.sampled_from([2**63, -(2**63) - 1, 2**64, 10**40, -(10**300), 10**4000]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([5e-324, 1.7976931348623157e308, -0.0, 0.1 + 0.2]),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, texts)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
metadata = st.dictionaries(texts, values, max_size=3)
operators = st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte", "in", "exists", "contains", "$ne", "", "EQ", "like"])
conditions = st.fixed_dictionaries(
    {}, optional={"key": st.lists(texts, max_size=4) | texts, "op": operators | texts, "value": values, "x": values}
)
filters = st.one_of(
    st.dictionaries(texts, st.one_of(values, st.dictionaries(operators, values, max_size=2)), max_size=3),
    st.lists(conditions, max_size=3),
    values,
)
each = settings(
    max_examples=15 * EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
async def values_app(module_settings: Settings) -> AsyncIterator[FastAPI]:
    """Its ingress pipeline has one check: what is looked at here comes before it."""
    checked = module_settings.model_copy(update={"ingress_checks": ("confidence",), "key_requests_per_minute": 0})
    async with served(checked) as app:
        yield app


@pytest.fixture(scope="module")
async def api(values_app: FastAPI) -> AsyncIterator[Api]:
    async with Api(values_app) as running:
        yield running


@pytest.fixture(scope="module")
async def http(api: Api) -> httpx.AsyncClient:
    return await api.client()


def as_kept(value: Any) -> Any:
    """Metadata as it is kept: JSON has no NaN and no infinities, so they are texts. 1e3 comes back as 1000."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case float() | int() if not isinstance(value, bool):
            return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        case list():
            return [as_kept(inner) for inner in value]
        case dict():
            return {name: as_kept(inner) for name, inner in value.items()}
    return value


def require_reason(error: ClearwellError) -> None:
    assert isinstance(error, InvalidInput | TooLarge), error
    assert error.text("en")
    assert error.text("zh")


@each
@given(content=texts, session_id=st.none() | texts, agent_id=st.none() | texts, metadata=metadata)
@example(content="x", session_id=None, agent_id=None, metadata={"": {"\u00e9": "e\u0301"}})
async def test_the_library_keeps_an_output_as_it_is_or_refuses_it(
    api: Api, content: str, session_id: str | None, agent_id: str | None, metadata: dict[str, Any]
) -> None:
    memory = api.clearwell.memory.acting_as(PERSON)
    new = NewCapture(
        content=content, group_id=GROUP, session_id=session_id, agent_id=agent_id, node_id=agent_id, metadata=metadata
    )
    try:
        stored = (await memory.capture(new)).id
    except ClearwellError as error:
        require_reason(error)
        return
    kept = await find_row(api.clearwell, stored)
    assert kept == (content, session_id, agent_id, agent_id, as_kept(metadata))


async def find_row(clearwell: Clearwell, row_id: UUID) -> tuple[Any, ...]:
    row = (await clearwell.memory.acting_as(PERSON).quarantine_row(row_id, group=GROUP)).capture
    return row.content, row.session_id, row.agent_id, row.node_id, as_kept(row.metadata)


@each
@given(content=texts, session_id=st.none() | texts, metadata=metadata, ascii_only=st.booleans())
async def test_the_api_keeps_an_output_as_it_is_or_refuses_it(
    http: httpx.AsyncClient, content: str, session_id: str | None, metadata: dict[str, Any], ascii_only: bool
) -> None:
    """Also for what is JSON only to some: NaN, and halves of characters as escapes or as bytes."""
    body = {"group_id": GROUP, "content": content, "session_id": session_id, "metadata": metadata}
    sent = json.dumps(body, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    answer = await post(http, "/api/v1/captures", sent)
    if answer.status_code in REFUSED:
        return
    assert answer.status_code == 201, answer.text
    kept = (await http.get(f"/api/v1/quarantine/{answer.json()['id']}", params={"group_id": GROUP})).json()
    assert (kept["content"], kept["session_id"], as_kept(kept["metadata"])) == (content, session_id, as_kept(metadata))


async def post(http: httpx.AsyncClient, path: str, sent: bytes) -> httpx.Response:
    """The answer, which is neither a failure of the server nor a refusal without a reason."""
    answer = await http.post(path, content=sent, headers={"Content-Type": "application/json"})
    assert answer.status_code < 500, (sent, answer.text)
    if answer.status_code >= 400:
        problem = answer.json()
        assert problem["type"].startswith("urn:clearwell:problem:"), problem
        assert problem["detail"], problem
    return answer


@each
@given(pairs=st.lists(st.tuples(st.sampled_from(["content", "group_id", "metadata", "a"]), leaves), max_size=6))
async def test_a_name_that_occurs_twice_is_refused(http: httpx.AsyncClient, pairs: list[tuple[str, Any]]) -> None:
    """At any depth: parsers disagree about which of the two counts."""
    inner = ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in pairs)
    sent = f'{{"group_id": "{GROUP}", "content": "x", "metadata": {{"deep": [{{{inner}}}]}}}}'.encode()
    answer = await post(http, "/api/v1/captures", sent)
    if len({name for name, _ in pairs}) < len(pairs):
        assert answer.status_code in REFUSED


@each
@given(query=texts, filters=filters, session_id=st.none() | texts)
async def test_a_query_with_any_filter_is_answered_or_refused(
    api: Api, http: httpx.AsyncClient, query: str, filters: Any, session_id: str | None
) -> None:
    body = {"group_id": GROUP, "query": query, "filters": filters, "session_id": session_id}
    sent = json.dumps(body).encode("utf-8", "surrogatepass")
    answer = await post(http, "/api/v1/memory/query", sent)
    assert answer.status_code in {200, *REFUSED}, answer.text
    options = RetrieveOptions(filters=filters, session_id=session_id)
    try:
        await api.clearwell.memory.acting_as(PERSON).retrieve(query, group=GROUP, options=options)
    except ClearwellError as error:
        require_reason(error)


@each
@given(value=texts, part=st.sampled_from(["quarantine/{}", "memories/{}", "working/{}", "groups/{}", "insights/{}"]))
async def test_any_id_in_an_address_is_answered_or_refused(http: httpx.AsyncClient, value: str, part: str) -> None:
    path = part.format(quote(value.encode("utf-8", "surrogatepass"), safe=""))
    answer = await http.get(f"/api/v1/{path}", params={"group_id": GROUP})
    assert answer.status_code < 500, answer.text
