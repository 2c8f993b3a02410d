"""The public names, the protocol's fields, and the settings with the protocol's numbers."""

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import clearwell
import clearwell.flow
from clearwell import errors
from clearwell.client.client import AsyncClient
from clearwell.client.review import AsyncReviewClient
from clearwell.flow.review import ReviewService
from clearwell.records import Capture, ContextItem, Memory, MemoryEntry, WorkingEntry
from clearwell.service import MemoryManager
from clearwell.settings import Settings
from tests.unit.test_client_surface import NAMES


def test_the_public_names_are_these() -> None:
    assert clearwell.__all__ == sorted(clearwell.__all__)
    assert len(clearwell.__all__) == 113
    assert all(hasattr(clearwell, name) for name in clearwell.__all__)


def test_every_error_is_public() -> None:
    found = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)}
    assert found <= {*clearwell.__all__}


def test_every_type_that_a_signature_names_is_public() -> None:
    """So that a program can name what it passes and gets. Add it to ``clearwell/__init__.py``."""
    services = (MemoryManager, ReviewService, AsyncClient, AsyncReviewClient)
    members = (member for service in services for name, member in vars(service).items() if not name.startswith("_"))
    functions = (getattr(member, "fget", None) or getattr(member, "func", member) for member in members)
    named = {kind for function in functions for kind in named_types(function)}
    assert named - {"IdempotencyKey"} <= {*clearwell.__all__}, "IdempotencyKey is for the HTTP adapter"


def named_types(function: Callable[..., Any]) -> Iterator[str]:
    """The classes of the package in the annotations of a function."""
    waiting = [*get_type_hints(inspect.unwrap(function), globalns=NAMES).values()]
    while waiting:
        hint = waiting.pop()
        waiting += [*(hint if isinstance(hint, list) else ()), *get_args(hint)]
        if inspect.isclass(hint) and hint.__module__.startswith("clearwell"):
            yield hint.__name__


def test_the_path_names_each_of_its_files() -> None:
    told = clearwell.flow.__doc__ or ""
    parts = {
        one.stem for one in Path(clearwell.flow.__file__).parent.iterdir() if one.stem not in ("__init__", "words")
    }
    assert {name for name in parts if f"``{name}``" not in told} == {"__pycache__"} & parts


def test_importing_does_nothing(tmp_path: Path) -> None:
    """No file, no server, no environment read."""
    command = "import os, threading, clearwell; assert threading.active_count() == 1; assert not os.listdir()"
    environment = {"PATH": "", "HOME": str(tmp_path), "CLEARWELL_PORT": "not a number"}
    subprocess.run([sys.executable, "-B", "-c", command], check=True, cwd=tmp_path, env=environment)
    assert list(tmp_path.iterdir()) == []


def test_every_tier_has_the_protocols_fields_of_an_entry() -> None:
    expected = {
        "id",
        "session_id",
        "content",
        "embedding",
        "layer",
        "created_at",
        "expires_at",
        "verified",
        "promoted_at",
    }
    for record in (MemoryEntry, Capture, WorkingEntry, Memory):
        assert expected <= {field.name for field in fields(record)}
        assert isinstance(record.project_id, property)
    assert {"content", "source", "score"} <= {field.name for field in fields(ContextItem)}


def test_the_manager_has_the_protocols_methods() -> None:
    for method in (
        "log_quarantine",
        "update_working_memory",
        "promote",
        "retrieve",
        "cleanup_working_memory",
        "capture",
    ):
        assert callable(getattr(MemoryManager, method))


def test_a_variable_that_no_setting_reads_is_found_with_the_one_that_was_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARWELL_MIN_WITDH", "10")
    monkeypatch.setenv("CLEARWELL_QQQQQQQQQQQQQQ", "1")
    monkeypatch.setenv("CLEARWELL_CONFIG", "nowhere.toml")
    found = Settings.find_misspelt_variables()
    assert found["CLEARWELL_MIN_WITDH"] == "CLEARWELL_MIN_WIDTH"
    assert found["CLEARWELL_QQQQQQQQQQQQQQ"] == ""
    assert "CLEARWELL_CONFIG" not in found


def test_every_number_of_the_protocol_is_a_setting() -> None:
    """000: 0.8, 50, 24 h, 50, 500/50, separators, weekly, 5 to 10; 002: 0.9; 003: 0.7, 500; 001: 10, 5."""
    settings = Settings()
    assert settings.confidence_threshold == 0.8
    assert settings.min_width == 50
    assert settings.duplicate_similarity == 0.9
    assert settings.working_ttl_seconds == 24 * 3600
    assert settings.working_size == 50
    assert settings.hot_limit == 10
    assert settings.cold_limit == 5
    assert settings.max_results == 15
    assert settings.node_relevance_threshold == 0.7
    assert settings.relevance_threshold is None
    assert settings.max_chars == 500
    assert (settings.chunk_size, settings.chunk_overlap) == (500, 50)
    assert [one for one in settings.chunk_separators if one not in "。！？；"] == ["\n\n", "\n", " "]
    assert settings.chunk_separators[-1] == ""
    assert settings.digest_cron == "0 6 * * 1"
    assert (settings.digest_min_insights, settings.digest_max_insights) == (5, 10)
    assert settings.hot_first_relevance == 0.85
    assert settings.wait_seconds == 5
    assert settings.embedding_model == "text-embedding-ada-002"
