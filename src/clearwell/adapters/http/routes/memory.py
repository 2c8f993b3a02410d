"""The protocol's two routes: promote a text, and ask working and long-term memory."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from clearwell.adapters.http import answers, openapi
from clearwell.adapters.http.bodies import fitted, idempotency_key, parse_object, question, read_body
from clearwell.adapters.http.callers import Caller, group_in, running
from clearwell.adapters.http.inputs import IngestBatch, IngestInput, QueryInput
from clearwell.adapters.http.language import language_of
from clearwell.adapters.http.schemas.memory import IngestAnswer, IngestBatchAnswer, QueryAnswer
from clearwell.errors import ClearwellError

router = APIRouter(tags=["memory"])

INGESTS = {
    "one": {"group_id": "grp-123", "content": "项目最终决定采用微服务架构，以提高可扩展性和部署灵活性。"},
    "many": {
        "group_id": "grp-123",
        "items": [
            {"content": "发布窗口定于每周二上午十点。", "author": "王芳", "occurred_at": "2026-11-14T09:30:00+08:00"},
            {"content": "Backups are kept for thirty days.", "session_id": "s-1", "metadata": {"source": "minutes"}},
        ],
    },
}
QUERIES = {
    "query": {"group_id": "grp-123", "query": "项目的架构决策是什么？"},
    "options": {
        "group_id": "grp-123",
        "query": "How long are backups kept?",
        "from": "2026-11-01T00:00:00Z",
        "sources": ["cold"],
        "filters": {"source": "minutes", "review.score": {"gte": 3}},
        "explain": True,
    },
}


@router.post(
    "/api/v1/memory/ingest",
    summary="Promote a text to long-term memory",
    description="A person's decision: the scope review is needed. It can be found when this answers. With items: [...] "
    "up to 100 at once; each is stored, or has its problem in its place.",
    responses=openapi.responses(
        {200: ("Stored as verified memory.", [IngestAnswer, IngestBatchAnswer])}, openapi.WRITES
    ),
    openapi_extra=openapi.body(IngestInput, IngestBatch, examples=INGESTS),
)
async def ingest(request: Request, caller: Caller) -> Response:
    memory, settings = running(request).memory, running(request).settings
    body = await read_body(request, max_bytes=settings.max_body_bytes)
    value, language = parse_object(body), language_of(request)
    key = idempotency_key(request, caller, body)
    if "items" in value:
        batch = fitted(IngestBatch, value)
        texts = [one.record() for one in batch.items]
        results = await memory.promote_many(group_in(batch, caller), texts, by=caller, request=key)
        rendered = [answers.promoted_or_problem(one, language) for one in results]
        status = answers.batch_status(results)
        return answers.answer({"status": status, "results": rendered}, headers=answers.replay_mark(results))
    one = fitted(IngestInput, value)
    (result,) = await memory.promote_many(group_in(one, caller), [one.record()], by=caller, request=key)
    if isinstance(result, ClearwellError):
        raise result
    return answers.answer(answers.promotion(result, "ingested"), headers=answers.replay_mark([result]))


@router.post(
    "/api/v1/memory/query",
    summary="Ask working and long-term memory",
    description="Both tiers at once, each item with its source, score and label. One tier that is down is named in "
    "degraded, and the other one answers; without the embedder words alone are searched, and score is then the share "
    "of the query's words. Quarantine is never searched.",
    responses=openapi.responses({200: ("What was found.", [QueryAnswer])}, openapi.QUERIES),
    openapi_extra=openapi.body(QueryInput, examples=QUERIES),
)
async def query(request: Request, caller: Caller) -> Response:
    asked, memory = await question(request, QueryInput), running(request).memory
    found = await memory.retrieve(asked.query, group_in(asked, caller), by=caller, options=asked.options())
    return answers.answer(answers.retrieval(found, language_of(request)))
