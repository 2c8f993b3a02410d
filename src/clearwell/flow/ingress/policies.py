"""What may become of an output, by the type of the node that made it. One table; settings can extend it."""

from collections.abc import Iterable

from clearwell.records import Metadata
from clearwell.settings import NodePolicy, Settings

POLICIES: dict[str, NodePolicy] = {
    "agent": NodePolicy(admit=True, digest=True),
    # Evidence: it supports what agents say, and is not a candidate of the digest by itself.
    "fact_check": NodePolicy(admit=True, digest=False),
    # What a tool printed is nobody's statement.
    "tool": NodePolicy(admit=True, digest=False),
    # What it returns is memory already.
    "memory_retrieval": NodePolicy(admit=False, digest=False),
}

EVIDENCE = frozenset({"fact_check"})


def describe_speakers(node_types: Iterable[str]) -> Metadata:
    """Return what the metadata of a memory say about its speakers, so that a chair's conclusion is known as one."""
    types = set(node_types)
    return {"node_type": types.pop()} if len(types) == 1 and types != {"agent"} else {}


def policy_of(node_type: str, settings: Settings) -> NodePolicy:
    """The policy of this node type, in whatever case; one that nobody named is treated as an agent."""
    return settings.node_policies.get(node_type) or POLICIES.get(node_type.lower()) or POLICIES["agent"]


def is_evidence(node_type: str, settings: Settings) -> bool:
    """Whether statements of this node type support insights without being candidates by themselves."""
    return node_type.lower() in EVIDENCE and node_type not in settings.node_policies
