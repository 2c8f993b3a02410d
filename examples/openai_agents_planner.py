"""An agent of the OpenAI Agents SDK with memory: it reads what was said before, and is captured. Run it twice."""

import asyncio
import os

from agents import Agent, RunConfig, Runner
from agents.testing import ModelStep, ScriptedModel, assistant_message

from clearwell import MemoryMiddleware, open_memory
from clearwell.adapters.openai_agents import ClearwellHooks

QUESTION = "When do we migrate the invoices, and who is on call?"
ANSWER = "The invoices are migrated on Friday at six in the evening, and Tomas from the platform team is on call."


def answer(call):
    """Follow a script, and print what a model would get."""
    print("[instructions]", call.system_instructions)
    print(*(f"[{item['role']}] {item['content']}" for item in call.input), sep="\n")
    return [assistant_message(ANSWER)]


async def main() -> None:
    name = os.environ.get("MODEL")  # such as gpt-5.5, with OPENAI_API_KEY set
    agent = Agent(
        name="planner",
        instructions="You answer questions about migrations.",
        model=name or ScriptedModel([ModelStep.respond(answer)]),
    )
    async with open_memory() as memory, MemoryMiddleware(memory, group="migrations") as middleware:
        hooks = ClearwellHooks(middleware, session_id="standup")
        config = RunConfig(call_model_input_filter=hooks.add_context, tracing_disabled=True)
        result = await Runner.run(agent, QUESTION, hooks=hooks, run_config=config)
    print("[answer]", result.final_output)


asyncio.run(main())
