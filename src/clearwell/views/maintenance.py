"""What commands of an operator did: the schema, the data folder, backups, vectors and indexes."""

from pydantic import Field

from clearwell.views.view import View


class MigrationsView(View):
    """The migrations that were applied, and the schema of the database now."""

    applied: tuple[str, ...]
    schema_: int = Field(alias="schema")


class DataBytesView(View):
    """The size of the data folder, in bytes."""

    postgres: int
    valkey: int
    logs: int
    total: int


class DataView(View):
    """The data folder, and the command that removes it."""

    data_dir: str
    exists: bool
    running: bool
    bytes: DataBytesView
    remove: str


class BackupView(View):
    """A backup that was made."""

    folder: str
    made_at: str
    schema_: int = Field(alias="schema")


class RestoreView(View):
    """A backup that was restored."""

    data_dir: str
    made_at: str


class ReembeddingView(View):
    """The model that long-term memory has now, and the settings for it."""

    model: str
    chunks: int
    settings: dict[str, str]


class RebuildView(View):
    """The chunks of long-term memory that were made again."""

    memories: int
    chunks: int
    refused: int = Field(description="memories that stay away, because a tombstone refuses what they say")
    reindexed: tuple[str, ...] = Field(description="groups whose terms were made again")


class WorkingRebuildView(View):
    """The number of entries of working memory, by group."""

    groups: dict[str, int]


class IndexesView(View):
    """The indexes of large groups that were built and dropped."""

    built: tuple[str, ...]
    dropped: tuple[str, ...]
    failed: tuple[str, ...]
    not_owner: bool = Field(description="whether the login may not build indexes")
