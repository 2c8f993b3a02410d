"""``clearwell status`` and ``clearwell doctor``: what runs where, how much there is, and what is wrong with it."""

from pydantic import Field

from clearwell.views.view import View, is_absent
from clearwell.vocabulary import Admission, CheckStatus


class ApiStatusView(View):
    """The HTTP API."""

    url: str
    answers: bool = Field(description="a server on this data folder answers")
    serves_other_folder: bool = Field(False, description="a server answers at the address, but on another data folder")


class ModelStatusView(View):
    """The embedding model of the settings."""

    name: str
    embedder: str


class ServerStatusView(View):
    """PostgreSQL, or Redis or Valkey."""

    running: bool
    bundled: bool | None = Field(None, exclude_if=is_absent, description="whether it is the one that Clearwell starts")
    version: str | None = Field(None, exclude_if=is_absent)
    url: str | None = Field(None, exclude_if=is_absent, description="without its password")
    problem: str | None = Field(None, exclude_if=is_absent, description="why it does not respond")


class SchemaStatusView(View):
    """The schema of the database, and the one that this version needs."""

    version: int | None
    newest: int


class KeyCountsView(View):
    """How many keys there are."""

    valid: int
    revoked: int


class StoredCountsView(View):
    """What all groups have."""

    quarantine: dict[Admission, int]
    groups: int
    memories: int
    chunks: int


class WorkingCountsView(View):
    """What working memory has."""

    groups: int
    entries: int


class SpoolCountsView(View):
    """Captures of the middleware that are not delivered."""

    path: str
    waiting: int
    refused: int


class StatusView(View):
    """The installation. What could not be read is null."""

    version: str
    data_dir: str
    api: ApiStatusView
    model: ModelStatusView
    database: ServerStatusView
    working_memory: ServerStatusView
    schema_: SchemaStatusView | None = Field(None, alias="schema")
    stored_models: dict[str, int] | None = None
    keys: KeyCountsView | None = None
    counts: StoredCountsView | None = None
    working: WorkingCountsView | None = None
    spool: SpoolCountsView


class CheckView(View):
    """What one check of the installation found, and what to do about it."""

    check: str
    status: CheckStatus
    text: str
    advice: str | None


class DoctorView(View):
    """What was checked. It is ok if nothing is a problem; warnings are not."""

    ok: bool
    checks: tuple[CheckView, ...]
