"""Puts the parts together. The only place that names concrete stores and models."""

from clearwell.app.assembly import assemble
from clearwell.app.models import configured_model, make_chat, make_embedder, make_model
from clearwell.app.opening import open_clearwell, open_indexes, open_keys, open_memory, open_reembedding, require_model
from clearwell.app.program import SystemClock, TimeOrderedIds
from clearwell.app.running import Clearwell, Health

__all__ = [
    "Clearwell",
    "Health",
    "SystemClock",
    "TimeOrderedIds",
    "assemble",
    "configured_model",
    "make_chat",
    "make_embedder",
    "make_model",
    "open_clearwell",
    "open_indexes",
    "open_keys",
    "open_memory",
    "open_reembedding",
    "require_model",
]
