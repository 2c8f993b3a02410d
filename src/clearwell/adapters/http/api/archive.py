"""Export a group as lines of JSON, and import the batches of such a file."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Body, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from clearwell.adapters.http import openapi
from clearwell.adapters.http.fields import GroupedBody, GroupParameters
from clearwell.adapters.http.request import ApiRequest, ApiRoute
from clearwell.records import ImportBatch
from clearwell.views.archive import ImportView

router = APIRouter(route_class=ApiRoute)

ARCHIVE = "export and import"
RIGHT = "Requires the scopes admin and review; never with the key of an agent."
LINES = "application/x-ndjson"


class ImportInput(GroupedBody):
    """A batch of an export: lines as they are in the file, without their ends."""

    header: str = Field(description="the first line of the export")
    previous: str = Field("", description="the root of the seal before this batch; empty for the first")
    lines: list[str] = Field(description="the rows of the batch", min_length=1, max_length=1000)
    seal: str = Field(description="the line after them")
    trust: str | None = Field(None, description="the fingerprint of the key, if another installation has signed it")

    def to_record(self) -> ImportBatch:
        return ImportBatch(header=self.header, previous=self.previous, lines=tuple(self.lines), seal=self.seal)


EXAMPLES = openapi.examples(
    one={
        "group_id": "grp-123",
        "header": '{"clearwell":"export","format":1,…}',
        "previous": "",
        "lines": ['{"kind":"group","row":{…}}'],
        "seal": '{"kind":"seal","number":0,…}',
    }
)


@router.get(
    "/api/v1/export",
    tags=[ARCHIVE],
    summary="Export a group",
    description="Everything of the group as it is at this moment, as lines of JSON in signed batches: settings, "
    "agents, tombstones, outputs with their verdicts, digests, insights, memories and decisions. An export is "
    f"complete only if its last line is a seal with `last`. {RIGHT}",
    response_class=StreamingResponse,
    response_description="The lines.",
    responses={200: {"content": {LINES: {"schema": {"type": "string"}}}}, **openapi.problems(*openapi.READS)},
)
async def export_group(request: ApiRequest, parameters: Annotated[GroupParameters, Query()]) -> StreamingResponse:
    lines = request.memory.export_group(group=request.group(parameters))
    # What is wrong with the request is answered before the stream.
    first = await anext(lines)
    return StreamingResponse(_write(first, lines), media_type=LINES)


@router.post(
    "/api/v1/import",
    tags=[ARCHIVE],
    summary="Import a batch of an export",
    description="Verifies the seal and its signature, and adds the rows that are not there yet. Batches are sent in "
    "order, each once; a repeated one changes nothing and says which is next. Rows keep their ids, times and "
    "deciders; vectors are made again; what has a tombstone is refused. 409 if the key that has signed the export is "
    f"neither that of this installation nor the one in trust. {RIGHT}",
    response_description="What became of the batch.",
    responses=openapi.problems(*openapi.WRITES),
)
async def import_batch(
    request: ApiRequest, sent: Annotated[ImportInput, Body(openapi_examples=EXAMPLES)]
) -> ImportView:
    result = await request.memory.import_batch(sent.to_record(), group=request.group(sent), trust=sent.trust)
    return ImportView.from_record(result)


async def _write(first: str, lines: AsyncGenerator[str]) -> AsyncIterator[bytes]:
    try:
        yield first.encode() + b"\n"
        async for line in lines:
            yield line.encode() + b"\n"
    finally:
        await lines.aclose()
