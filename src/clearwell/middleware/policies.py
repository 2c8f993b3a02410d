"""What the middleware does before and after a node, by the type of the node."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Injection(StrEnum):
    """What a node reads of the memory before it runs."""

    CONTEXT = "context"
    """The context builder: group memory and the agent's own memory."""
    HISTORY = "history"
    """``history_context``, as the memory-retrieval node adds it to the state."""
    EVIDENCE = "evidence"
    """What was found for a claim, verified items first."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPolicy:
    """What to inject before a node, and whether to capture its output."""

    inject: Injection = Injection.CONTEXT
    capture: bool = True


POLICIES: Final[Mapping[str, HookPolicy]] = {
    "agent": HookPolicy(),
    "fact_check": HookPolicy(inject=Injection.EVIDENCE),
    "tool": HookPolicy(inject=Injection.NOTHING),
    # Its output is memory already.
    "memory_retrieval": HookPolicy(inject=Injection.HISTORY, capture=False),
}


def find_policy(node_type: str, policies: Mapping[str, HookPolicy]) -> HookPolicy:
    """The policy of a node type: the caller's own, else the built-in one, else that of an agent."""
    return policies.get(node_type) or POLICIES.get(node_type) or POLICIES["agent"]
