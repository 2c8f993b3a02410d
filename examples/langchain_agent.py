"""An agent of LangChain with memory: it reads what was said before, and what it answers is captured. Run it twice."""

import asyncio
import os

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models.fake_chat_models import FakeListChatModel

from clearwell import MemoryMiddleware, open_memory
from clearwell.adapters.langchain import ClearwellMiddleware

QUESTION = "When do we release version 4.2, and who signs off?"
ANSWER = "Version 4.2 is released on Thursday at noon, and Maria from quality assurance signs off."


class TalkativeModel(FakeListChatModel):
    """Follows a script, and prints the messages that a model would get."""

    def _call(self, messages, *args, **kwargs):
        print(*(f"[{message.type}] {message.text}" for message in messages), sep="\n")
        return super()._call(messages, *args, **kwargs)


async def main() -> None:
    name = os.environ.get("MODEL")  # such as openai:gpt-5.5, with langchain[openai] installed
    model = init_chat_model(name) if name else TalkativeModel(responses=[ANSWER])
    async with open_memory() as memory, MemoryMiddleware(memory, group="release-desk") as middleware:
        agent = create_agent(
            model,
            name="release-manager",
            system_prompt="You answer questions about releases.",
            middleware=[ClearwellMiddleware(middleware)],
        )
        result = await agent.ainvoke({"messages": [("user", QUESTION)]}, {"configurable": {"thread_id": "standup"}})
    print("[answer]", result["messages"][-1].text)


asyncio.run(main())
