"""Memory for agents of LangChain 1.x, on the memory middleware.

``ClearwellMiddleware`` is a middleware of ``create_agent``: the model reads memories as data, and the answers of the
agent and the results of its tools are captured.
"""

try:
    import langchain.agents.middleware  # noqa: F401
except ImportError as error:
    raise ImportError('the LangChain adapter needs LangChain: pip install "clearwell[langchain]"') from error

from clearwell.adapters.langchain.middleware import ClearwellMiddleware

__all__ = ["ClearwellMiddleware"]
