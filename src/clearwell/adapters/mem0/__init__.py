"""Memory in the form of mem0 2.x, so that a program can try Clearwell with another import.

``Memory`` and ``AsyncMemory`` have the methods of mem0's classes of these names, with the same parameters and results.
They need no package of mem0. What an agent may not do here says what to do instead.
"""

from clearwell.adapters.mem0.memory import AsyncMemory
from clearwell.adapters.mem0.synchronous import Memory

__all__ = ["AsyncMemory", "Memory"]
