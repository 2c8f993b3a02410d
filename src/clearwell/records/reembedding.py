"""Re-embedding: the change of a whole database from one embedding model to another."""

import shlex
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from clearwell.records.values import Json

OFFLINE_MODEL = "use-multilingual-v3"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """How to reach a model. It never has the key, which stays in the settings."""

    embedder: Literal["offline", "openai"]
    model: str
    base_url: str | None = None
    dimensions: int | None = None

    @classmethod
    def parse(cls, stored: str) -> "ModelChoice":
        """Return the choice that a stored model name describes. The name does not contain the address."""
        if stored == OFFLINE_MODEL:
            return cls(embedder="offline", model=OFFLINE_MODEL)
        model, _, dimensions = stored.rpartition("@")
        if model and dimensions.isascii() and dimensions.isdecimal():
            return cls(embedder="openai", model=model, dimensions=int(dimensions))
        return cls(embedder="openai", model=stored)

    @property
    def stored_name(self) -> str:
        """The model name that is stored with vectors. It includes the dimensions if they are configured."""
        return self.model if self.dimensions is None else f"{self.model}@{self.dimensions}"

    def settings(self) -> dict[str, str]:
        """Return the environment variables that configure this model."""
        if self.embedder == "offline":
            return {"CLEARWELL_EMBEDDER": "offline"}
        variables = {
            "CLEARWELL_EMBEDDER": "openai",
            "CLEARWELL_EMBEDDING_MODEL": self.model,
            "CLEARWELL_EMBEDDING_BASE_URL": self.base_url or "",
            "CLEARWELL_EMBEDDING_DIMENSIONS": "" if self.dimensions is None else str(self.dimensions),
        }
        return {name: value for name, value in variables.items() if value}

    def assignments(self) -> str:
        """Return the same variables as shell assignments, for a message."""
        return " ".join(f"{name}={shlex.quote(value)}" for name, value in self.settings().items())

    def command(self) -> str:
        """Return the command that re-embeds a database with this model."""
        words = ["clearwell", "reembed", "--model", "offline" if self.embedder == "offline" else self.model]
        if self.base_url is not None:
            words += ["--base-url", self.base_url]
        if self.dimensions is not None:
            words += ["--dimensions", str(self.dimensions)]
        return shlex.join(words)

    def to_json(self) -> dict[str, Json]:
        return {
            "embedder": self.embedder,
            "model": self.model,
            "base_url": self.base_url,
            "dimensions": self.dimensions,
        }

    @classmethod
    def from_json(cls, stored: Json) -> "ModelChoice":
        if not isinstance(stored, dict):
            raise TypeError(f"a stored choice is an object, not {type(stored).__name__}")
        base_url, dimensions = stored["base_url"], stored["dimensions"]
        return cls(
            embedder="offline" if stored["embedder"] == "offline" else "openai",
            model=str(stored["model"]),
            base_url=None if base_url is None else str(base_url),
            dimensions=None if dimensions is None else int(str(dimensions)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReembedding:
    """A re-embedding to be started. ``from_model`` and ``to_model`` are the names that are stored with vectors.

    ``at_once``: there are vectors of both models already, so vectors may be replaced at once.
    """

    from_model: str
    from_choice: ModelChoice
    to_model: str
    to_choice: ModelChoice
    started_by: str
    started_at: datetime
    at_once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reembedding:
    """A re-embedding that was started.

    Before ``moving_at`` all rows have a vector of the old model; between ``moving_at`` and ``finished_at`` some have
    one of the new model already.
    """

    id: int
    from_model: str
    from_choice: ModelChoice
    to_model: str
    to_choice: ModelChoice
    moving_at: datetime | None
    finished_at: datetime | None

    @property
    def number(self) -> int:
        """The re-embedding and its phase as one number: a search that knows only an earlier number may miss rows."""
        return 2 * self.id + (self.moving_at is not None)


@dataclass(frozen=True, slots=True)
class StoredText:
    """A chunk that needs a vector of the new model."""

    id: UUID
    chunk_no: int
    content: str
