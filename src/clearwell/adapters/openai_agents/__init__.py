"""Memory for agents of the OpenAI Agents SDK, on the memory middleware.

``ClearwellHooks`` are hooks of a run: they capture what agents and tools produce, and their ``add_context`` is an input
filter that shows the model its memories. ``ClearwellSession`` wraps a session of the SDK and captures what is added to
the conversation.
"""

try:
    import agents  # noqa: F401
except ImportError as error:
    raise ImportError(
        'the OpenAI Agents adapter needs the OpenAI Agents SDK: pip install "clearwell[openai-agents]"'
    ) from error

from clearwell.adapters.openai_agents.hooks import ClearwellHooks
from clearwell.adapters.openai_agents.session import ClearwellSession

__all__ = ["ClearwellHooks", "ClearwellSession"]
