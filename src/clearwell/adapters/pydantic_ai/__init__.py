"""Memory for agents of Pydantic AI 2.x, on the memory middleware.

``ClearwellMemory`` is a capability: models read memories as data before the question, and what agents and tools produce
is captured.
"""

try:
    import pydantic_ai.capabilities  # noqa: F401
except ImportError as error:
    raise ImportError('the Pydantic AI adapter needs Pydantic AI: pip install "clearwell[pydantic-ai]"') from error

from clearwell.adapters.pydantic_ai.capability import ClearwellMemory

__all__ = ["ClearwellMemory"]
