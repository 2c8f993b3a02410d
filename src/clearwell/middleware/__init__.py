"""Memory around the nodes of a workflow, independent of any framework.

``MemoryMiddleware`` (in ``middleware``) has two hooks: before a node it returns what the node should read, and after a
node it captures what the node produced. ``nodes`` has the records of both sides, ``policies`` says what happens for
which node type, ``memory`` is the protocol of the memory (the library or a remote server), ``run`` wraps the body of a
node, and ``bridge`` reaches the middleware from any thread.

``sender`` delivers captures in the background. Until then they wait in a ``backlog``, in memory or on disk: ``spool``
writes them to the ``segments`` of a ``spool_folder``. A memory that is slow, down or refuses never breaks an agent.
"""

from clearwell.middleware.memory import AgentMemory
from clearwell.middleware.middleware import MemoryMiddleware
from clearwell.middleware.nodes import Node, NodeContext, NodeProblem, Session
from clearwell.middleware.policies import HookPolicy, Injection
from clearwell.middleware.run import MemoryRun
from clearwell.middleware.sender import DeliveryStatus

__all__ = [
    "AgentMemory",
    "DeliveryStatus",
    "HookPolicy",
    "Injection",
    "MemoryMiddleware",
    "MemoryRun",
    "Node",
    "NodeContext",
    "NodeProblem",
    "Session",
]
