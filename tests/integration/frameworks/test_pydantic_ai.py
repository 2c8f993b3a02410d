"""Runs of Pydantic AI on the synchronous library, and on a server in a process of its own."""

from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from clearwell import AsyncClient, Client, MemoryMiddleware, open_memory
from clearwell.adapters.pydantic_ai import ClearwellMemory
from clearwell.settings import Settings
from tests.integration.cli.program import Program

FACT = "The ferry to the island leaves at seven in the morning, and at six on Saturdays."
QUESTION = "When does the ferry to the island leave?"
ANSWER = "I booked the ferry at seven on Tuesday, because the one at nine was already full."


class Clerk:
    """An agent with one answer, and what its model read."""

    def __init__(self, middleware: MemoryMiddleware) -> None:
        self.read = ""
        memory: ClearwellMemory[Any] = ClearwellMemory(middleware)
        self.agent: Agent[Any, str] = Agent(FunctionModel(self._answer), name="clerk", capabilities=[memory])

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.read = str(messages)
        return ModelResponse([TextPart(ANSWER)])


def list_captured(url: str) -> list[tuple[str, str | None, str | None]]:
    """The outputs in quarantine, as a person sees them."""
    with Client(url, agent=False) as person:
        rows = person.quarantine_rows(group="trips")
    return [(row.capture.content, row.capture.session_id, row.capture.agent_id) for row in rows]


@pytest.mark.usefixtures("own_loop")
def test_synchronous_run_on_the_library(settings: Settings) -> None:
    with open_memory(settings) as memory:
        memory.promote(FACT, group="trips")
        with MemoryMiddleware(memory, group="trips", settings=settings) as middleware:
            clerk = Clerk(middleware)
            clerk.agent.run_sync(QUESTION, conversation_id="trip")
        (row,) = memory.quarantine_rows(group="trips")
    assert FACT in clerk.read
    assert (row.capture.content, row.capture.session_id) == (ANSWER, "trip")


async def test_run_on_a_server_that_stops(program: Program, tmp_path: Path) -> None:
    """While the server is down, the run goes on, and its capture waits in the spool for the next start."""
    spool = tmp_path / "spool"
    with program.serving() as server:
        program.good("ingest", "--group", "trips", FACT)
        async with AsyncClient(server.url) as client, MemoryMiddleware(client, group="trips", spool=spool) as up:
            clerk = Clerk(up)
            await clerk.agent.run(QUESTION, conversation_id="trip")
            assert await up.flush()
        assert FACT in clerk.read
        assert list_captured(server.url) == [(ANSWER, "trip", "clerk")]
    async with AsyncClient(server.url) as client:
        down = MemoryMiddleware(client, group="trips", spool=spool)
        clerk = Clerk(down)
        result = await clerk.agent.run(QUESTION, conversation_id="trip")
        assert result.output == ANSWER
        assert "<memory" not in clerk.read
        assert down.status().waiting == 1
        await down.aclose(seconds=0)


@pytest.mark.usefixtures("own_loop")
def test_synchronous_run_on_a_server(program: Program, tmp_path: Path) -> None:
    with program.serving() as server, Client(server.url) as client:
        program.good("ingest", "--group", "trips", FACT)
        with MemoryMiddleware(client, group="trips", spool=tmp_path / "spool") as middleware:
            clerk = Clerk(middleware)
            clerk.agent.run_sync(QUESTION, conversation_id="trip")
        assert FACT in clerk.read
        assert list_captured(server.url) == [(ANSWER, "trip", "clerk")]
