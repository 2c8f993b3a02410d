"""Memory for graphs of LangGraph 1.x, on the memory middleware.

``remember`` wraps the node of an agent: it reads its context before and its output is captured after.
``memory_retrieval`` and ``fact_check`` make the nodes of the protocol. ``CaptureHandler`` captures the outputs of a
graph that stays as it is, and ``ClearwellStore`` is a store whose verified namespace is read-only.
"""

try:
    import langgraph.graph  # noqa: F401
except ImportError as error:
    raise ImportError('the LangGraph adapter needs LangGraph: pip install "clearwell[langgraph]"') from error

from clearwell.adapters.langgraph.callback import CaptureHandler
from clearwell.adapters.langgraph.nodes import fact_check, memory_retrieval
from clearwell.adapters.langgraph.store import ClearwellStore
from clearwell.adapters.langgraph.wrapper import remember

__all__ = ["CaptureHandler", "ClearwellStore", "fact_check", "memory_retrieval", "remember"]
