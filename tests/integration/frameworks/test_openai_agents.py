"""Runs of the OpenAI Agents SDK on the synchronous library, and on a server in a process of its own."""

from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, SQLiteSession
from agents.testing import ScriptedModel, assistant_message

from clearwell import AsyncClient, Client, MemoryMiddleware, open_memory
from clearwell.adapters.openai_agents import ClearwellHooks, ClearwellSession
from clearwell.settings import Settings
from tests.integration.cli.program import Program

FACT = "The ferry to the island leaves at seven in the morning, and at six on Saturdays."
QUESTION = "When does the ferry to the island leave?"
ANSWER = "I booked the ferry at seven on Tuesday, because the one at nine was already full."
SECOND = "The return ticket of the ferry is for Thursday evening, and the bus waits at the harbour."


class Clerk:
    """An agent with a script, and what its model read."""

    def __init__(self, answer: str = ANSWER) -> None:
        self.model = ScriptedModel([[assistant_message(answer)]])
        self.agent = Agent[Any](name="clerk", model=self.model)

    def prepare(self, middleware: MemoryMiddleware) -> dict[str, Any]:
        hooks = ClearwellHooks(middleware, session_id="trip")
        config = RunConfig(call_model_input_filter=hooks.add_context, tracing_disabled=True)
        return {"hooks": hooks, "run_config": config}

    @property
    def read(self) -> str:
        return str(self.model.calls[0].input)


def list_captured(url: str) -> list[tuple[str, str | None]]:
    """The outputs in quarantine and their sessions, as a person sees them."""
    with Client(url, agent=False) as person:
        rows = person.quarantine_rows(group="trips")
    return [(row.capture.content, row.capture.session_id) for row in rows]


@pytest.mark.usefixtures("own_loop")
def test_synchronous_run_on_the_library(settings: Settings) -> None:
    first, second = Clerk(), Clerk(SECOND)
    conversation = SQLiteSession("trip")
    with open_memory(settings) as memory:
        memory.promote(FACT, group="trips")
        with MemoryMiddleware(memory, group="trips", settings=settings) as middleware:
            Runner.run_sync(first.agent, QUESTION, **first.prepare(middleware))
            session = ClearwellSession(conversation, middleware, agent_id="clerk")
            Runner.run_sync(second.agent, QUESTION, session=session, run_config=RunConfig(tracing_disabled=True))
        rows = [row.capture for row in memory.quarantine_rows(group="trips")]
    conversation.close()
    assert FACT in first.read
    assert {(row.content, row.agent_id, row.session_id) for row in rows} == {
        (ANSWER, "clerk", "trip"),
        (SECOND, "clerk", "trip"),
    }


async def test_run_on_a_server_that_stops(program: Program, tmp_path: Path) -> None:
    """While the server is down, the run goes on, and its capture waits in the spool for the next start."""
    first, second, spool = Clerk(), Clerk(SECOND), tmp_path / "spool"
    with program.serving() as server:
        async with AsyncClient(server.url) as client, MemoryMiddleware(client, group="trips", spool=spool) as up:
            program.good("ingest", "--group", "trips", FACT)
            result = await Runner.run(first.agent, QUESTION, **first.prepare(up))
            assert await up.flush()
        assert result.final_output == ANSWER
        assert FACT in first.read
        assert list_captured(server.url) == [(ANSWER, "trip")]
    async with AsyncClient(server.url) as client:
        down = MemoryMiddleware(client, group="trips", spool=spool)
        result = await Runner.run(second.agent, QUESTION, **second.prepare(down))
        assert result.final_output == SECOND
        assert "<memory" not in second.read
        assert down.status().waiting == 1
        await down.aclose(seconds=0)


@pytest.mark.usefixtures("own_loop")
def test_synchronous_run_on_a_server(program: Program, tmp_path: Path) -> None:
    clerk = Clerk()
    with program.serving() as server, Client(server.url) as client:
        program.good("ingest", "--group", "trips", FACT)
        with MemoryMiddleware(client, group="trips", spool=tmp_path / "spool") as middleware:
            Runner.run_sync(clerk.agent, QUESTION, **clerk.prepare(middleware))
        assert FACT in clerk.read
        assert list_captured(server.url) == [(ANSWER, "trip")]
