"""What the configuration of a run says: the session, the group, the node, and who captures its output."""

from collections.abc import Iterator, Mapping
from typing import Final, Protocol, runtime_checkable
from uuid import UUID

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig

REMEMBERED: Final = "clearwell_remembered"
"""In the metadata of runs in a node whose output is captured as a whole."""


@runtime_checkable
class RunObserver(Protocol):
    """A callback handler that captures outputs of runs, and leaves out those that are captured elsewhere."""

    def leave_out(self, run_id: UUID, *, tools: bool) -> None:
        """Do not capture the output of this run, nor those of its tools if ``tools`` is true."""
        ...


def read_session_id(config: Mapping[str, object]) -> str | None:
    """The session of a run, which is its thread, from its configuration or its metadata."""
    return _read(config, "thread_id")


def read_group(config: Mapping[str, object]) -> str | None:
    """The group that the caller named in ``configurable`` or in the metadata of the run."""
    return _read(config, "group")


def read_node_name(config: Mapping[str, object]) -> str | None:
    """The name of the node of the graph that runs."""
    return _read(config, "langgraph_node")


def read_agent_name(config: Mapping[str, object]) -> str | None:
    """The name that an agent of LangChain was given."""
    return _read(config, "lc_agent_name")


def is_remembered(config: RunnableConfig) -> bool:
    """Whether the node around this run captures its output already."""
    return bool((config.get("metadata") or {}).get(REMEMBERED))


def claim_output(config: RunnableConfig, *, tools: bool = False) -> bool:
    """Tell the callback handlers of Clearwell that the caller captures the output of this run.

    Returns whether there is such a handler.
    """
    manager = config.get("callbacks")
    if not isinstance(manager, BaseCallbackManager) or manager.parent_run_id is None:
        return False
    observers = list(_find_observers(manager))
    for observer in observers:
        observer.leave_out(manager.parent_run_id, tools=tools)
    return bool(observers)


def _find_observers(manager: BaseCallbackManager) -> Iterator[RunObserver]:
    return (handler for handler in manager.handlers if isinstance(handler, RunObserver))


def _read(config: Mapping[str, object], name: str) -> str | None:
    """A text of ``configurable``, else of ``metadata``, else of the mapping itself, if it is the metadata of a run."""
    for fields in (config.get("configurable"), config.get("metadata"), config):
        value = fields.get(name) if isinstance(fields, Mapping) else None
        if value is not None and str(value):
            return str(value)
    return None
