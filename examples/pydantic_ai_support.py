"""An agent of Pydantic AI with memory: it reads what was said before, and what it answers is captured. Run it twice."""

import asyncio
import os

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from clearwell import MemoryMiddleware, open_memory
from clearwell.adapters.pydantic_ai import ClearwellMemory

QUESTION = "Why are exports slow, and when is it fixed?"
ANSWER = "Exports are slow because the search index is built again, and Ines has the fix ready for Tuesday morning."


def answer(messages, info):
    """Follow a script, and print what a model would get."""
    print("[instructions]", info.instructions)
    print(*(f"[user] {part.content}" for part in messages[-1].parts), sep="\n")
    return ModelResponse([TextPart(ANSWER)])


async def main() -> None:
    name = os.environ.get("MODEL")  # such as openai:gpt-5.5, with pydantic-ai-slim[openai] installed
    async with open_memory() as memory, MemoryMiddleware(memory, group="support") as middleware:
        agent = Agent(
            name or FunctionModel(answer),
            name="supporter",
            instructions="You answer questions of customers.",
            capabilities=[ClearwellMemory(middleware)],
        )
        result = await agent.run(QUESTION, conversation_id="ticket-204")
    print("[answer]", result.output)


asyncio.run(main())
