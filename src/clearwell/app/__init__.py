"""Puts the program together. The only package that names concrete stores and models.

``stores`` opens the stores, ``models`` makes the models, ``wiring`` builds the program from them, and ``program`` opens
all of it as the settings say. ``evaluation`` evaluates the models alone.
"""

from clearwell.app.evaluation import evaluate_models
from clearwell.app.models import configured_model, make_chat, make_embedder, make_model, make_writing_chat
from clearwell.app.program import (
    open_acceptance,
    open_clearwell,
    open_indexes,
    open_keys,
    open_memory,
    open_rebuild,
    open_reembedding,
    record_operation,
    require_model,
)
from clearwell.app.stores import make_stores, open_heads, open_postgres, open_stores
from clearwell.app.wiring import Clearwell, Health, build
from clearwell.clock import SystemClock, TimeOrderedIds

__all__ = [
    "Clearwell",
    "Health",
    "SystemClock",
    "TimeOrderedIds",
    "build",
    "configured_model",
    "evaluate_models",
    "make_chat",
    "make_embedder",
    "make_model",
    "make_stores",
    "make_writing_chat",
    "open_acceptance",
    "open_clearwell",
    "open_heads",
    "open_indexes",
    "open_keys",
    "open_memory",
    "open_postgres",
    "open_rebuild",
    "open_reembedding",
    "open_stores",
    "record_operation",
    "require_model",
]
