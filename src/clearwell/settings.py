"""Every knob of Clearwell, declared once. This is the only reader of the environment.

Each setting is ``CLEARWELL_<NAME>`` in the environment or ``<name>`` in ``clearwell.toml`` (in the working
folder, or where ``CLEARWELL_CONFIG`` points). ``DATABASE_URL`` and ``REDIS_URL`` are read as people know them.
"""

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter
from platformdirs import user_data_path
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from clearwell.messages import Language, catalogue

NO_ZONES = frozenset({"Factory", "localtime", "posixrules"})
"""Files beside the time zones that are no zone by a name of its own, and mean another one on each machine."""
NO_SETTINGS = frozenset({"CLEARWELL_CONFIG", "CLEARWELL_KEY", "CLEARWELL_EVAL"})

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]
Weight = Annotated[float, Field(ge=0, le=100)]


def _wrong(reason: str, **more: object) -> PydanticCustomError:
    """A value that does not fit, for a reason that has its words among the messages."""
    return PydanticCustomError(reason, catalogue()[f"cli_reason_{reason}"]["en"], more)


def config_path() -> Path:
    """The settings file that is read where it exists."""
    return Path(os.environ.get("CLEARWELL_CONFIG", "clearwell.toml"))


def locale_language() -> Language:
    """Chinese where the locale is: the first of these variables that is set decides, as for every program."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return "zh" if locale.startswith("zh") else "en"


def zone_named(name: str) -> ZoneInfo:
    """The zone by its name in the IANA database; ValueError where there is none."""
    if name in NO_ZONES or name.startswith(("posix/", "right/")):
        raise ValueError(name)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(name) from error


class NodePolicy(BaseModel):
    """What may become of the output of one type of node."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    admit: bool = Field(True, description="may enter working memory")
    digest: bool = Field(True, description="is a candidate of the digest by itself")


FILTER_STAGES = (("confidence", "length"), ("tombstone", "echo", "non_duplicate"), ("self_consistency",))


class Settings(BaseSettings):
    """Numbers that the protocol names have the protocol's number as default."""

    model_config = SettingsConfigDict(env_prefix="CLEARWELL_", extra="forbid", frozen=True, populate_by_name=True)

    # where things are
    data_dir: Path = Field(
        default_factory=lambda: user_data_path("clearwell"), description="data of the bundled servers"
    )
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8080, ge=1, le=65535, description="port to listen on")
    database_url: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("CLEARWELL_DATABASE_URL", "DATABASE_URL", "database_url"),
        description="PostgreSQL to use instead of the bundled one",
    )
    redis_url: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("CLEARWELL_REDIS_URL", "REDIS_URL", "redis_url"),
        description="Redis or Valkey to use instead of the bundled one",
    )
    language: Literal["auto", "en", "zh"] = Field("auto", description="language of the command line; auto: by locale")

    actor: Literal["person", "agent"] = Field(
        "person", description="who uses the command line; an agent may capture and read, and decides nothing"
    )

    # ingress filter
    filter_checks: tuple[str, ...] = Field(
        tuple(check for stage in FILTER_STAGES for check in stage), description="the checks of the filter, in order"
    )
    confidence_threshold: Share = Field(0.8, description="refuse below this stated confidence")
    require_confidence: bool = Field(False, description="refuse captures that state no confidence")
    min_width: Annotated[int, Field(ge=0)] = Field(
        50, description="refuse text narrower than this; a wide character counts two"
    )
    duplicate_similarity: Share = Field(0.9, description="calibrated similarity from which text is the same")
    conflict_similarity: Share = Field(
        0.55, description="calibrated similarity from which a changed fact is a conflict"
    )
    near_rejected_similarity: Share = Field(
        0.6, description="calibrated similarity to a rejected value that is flagged"
    )
    echo_coverage: Share = Field(
        0.8, description="share of a sentence that stands in recalled memories and makes it an echo"
    )
    recall_seconds: Seconds = Field(24 * 3600.0, description="how long it is remembered what was recalled")
    node_policies: dict[str, NodePolicy] = Field(
        default_factory=dict, description="policies by node type, beside the built-in ones"
    )
    require_self_consistency: bool = Field(False, description="hold back entries that no judge has checked")

    # working memory
    working_ttl_seconds: Seconds = Field(24 * 3600.0, description="life of an entry of working memory")
    working_size: Count = Field(50, description="entries kept in working memory per group")
    working_content_bytes: Count = Field(16 * 1024, description="text of an entry is cut here in working memory")

    # promotion
    chunk_size: Count = Field(500, description="characters in a chunk of long-term memory")
    chunk_overlap: Annotated[int, Field(ge=0)] = Field(50, description="characters that neighbouring chunks share")
    chunk_separators: tuple[str, ...] = Field(
        ("\n\n", "\n", "。", "！", "？", "；", " ", ""), description="where text is split, best first"
    )

    # retrieval
    hot_limit: Annotated[int, Field(ge=0)] = Field(10, description="working-memory items in an answer")
    cold_limit: Annotated[int, Field(ge=0)] = Field(5, description="long-term items in an answer")
    max_results: Count = Field(15, description="items in an answer")
    hot_first_relevance: Share = Field(0.85, description="unverified items this relevant come before verified ones")
    relevance_threshold: Share | None = Field(
        None, description="leave out long-term items below this relevance in a query"
    )
    node_relevance_threshold: Share = Field(0.7, description="the same, for the memory-retrieval node")
    max_chars: Count = Field(500, description="characters of one item; longer text is cut at a sentence")
    context_max_tokens: Annotated[int, Field(ge=200)] = Field(4000, description="tokens of a context that is built")
    agent_memory_limit: Annotated[int, Field(ge=0, le=100)] = Field(
        5, description="items of an agent's own experience in a context"
    )
    retrieve_timeout_seconds: Seconds = Field(2.0, description="longest that retrieval waits, whatever is down")
    fusion_dense: Weight = Field(1 / 3, description="weight of the vectors in the order of long-term items; 0: off")
    fusion_lexical: Weight = Field(0.7, description="weight of the words of the query; 0: off")
    fusion_author: Weight = Field(0.25, description="weight of the one speaker whom the query names; 0: off")
    fusion_beside: Weight = Field(0.15, description="weight of the better neighbour in the session; 0: off")
    fusion_answer: Weight = Field(0.2, description="weight of a question just before in the session; 0: off")
    fusion_session: Weight = Field(0.2, description="weight of the best item of the session; 0: off")
    fusion_dates: Weight = Field(1.0, description="weight of the query's dates among its words; 0: off")

    # digest
    digest_cron: str = Field(
        "0 6 * * 1", description="when the digest is made, where a group does not say; empty: only when asked for"
    )
    digest_zone: str = Field("UTC", description="time zone of digest_cron, such as Asia/Shanghai")
    digest_looks: Count = Field(4, description="digests that look at a row which does not make it into an insight")
    digest_attempts: Count = Field(5, description="tries at a digest before it is given up")
    digest_retry_seconds: Seconds = Field(30.0, description="pause after the first try that failed; then twice as long")
    digest_stalled_seconds: Annotated[float, Field(ge=1)] = Field(
        30.0, description="a worker without a sign of life for so long is gone, and its digest is taken up again"
    )
    digest_llm_base_url: str | None = Field(
        None, description="address of the chat API that writes insights; empty: they are quoted from their sources"
    )
    digest_llm_model: str = Field("", description="model name at that API; needed where there is one")
    digest_llm_api_key: SecretStr | None = Field(None, description="key of that API")
    digest_llm_timeout_seconds: Seconds = Field(60.0, description="longest wait for one answer of that API")
    digest_llm_max_chars: Annotated[int, Field(ge=200)] = Field(
        12000, description="characters of an insight's sources that the model is shown"
    )
    digest_llm_max_tokens: Count = Field(2000, description="longest answer of that API, its thinking included")
    digest_min_insights: Count = Field(5, description="fewest insights in a digest, where there is material")
    digest_max_insights: Count = Field(10, description="most insights in a digest")

    # capture and admission
    wait_seconds: Seconds = Field(5.0, description="longest wait of a capture with wait=true")
    sweep_seconds: Seconds = Field(5.0, description="pause between two looks for admissions left behind")
    admission_attempts: Count = Field(
        10, description="attempts at an admission that fails by itself before the output is refused"
    )
    admission_lease_seconds: Annotated[float, Field(ge=1)] = Field(
        30.0, description="an admission whose process shows no sign of life for so long is taken over by another"
    )
    admission_batch: Count = Field(32, description="captures of one group that are admitted together")

    # embedding
    embedder: Literal["offline", "openai"] = Field(
        "offline", description="offline: bundled model; openai: any compatible API"
    )
    embedding_model: str = Field("text-embedding-ada-002", description="model name at the embedding API")
    embedding_base_url: str = Field("https://api.openai.com/v1", description="address of the embedding API")
    embedding_api_key: SecretStr | None = Field(None, description="key of the embedding API")
    embedding_dimensions: Count | None = Field(None, description="dimensions asked of the embedding API")
    embedding_timeout_seconds: Seconds = Field(10.0, description="longest wait for one answer of the embedding API")
    embedding_retries: Annotated[int, Field(ge=0)] = Field(3, description="tries after the first at the embedding API")
    embedding_batch: Count = Field(64, description="texts in one request to the embedding API")

    other_embedding_api_key: SecretStr | None = Field(
        None, description="key of the other model's API while the database moves from one model to another"
    )

    # judge
    judge_base_url: str | None = Field(None, description="address of the chat API that judges; empty: no judge")
    judge_model: str = Field("", description="model name at the chat API; needed where there is a judge")
    judge_api_key: SecretStr | None = Field(None, description="key of the chat API")
    judge_timeout_seconds: Seconds = Field(20.0, description="longest wait for one answer of the chat API")
    judge_concurrency: Count = Field(2, description="requests to the chat API at the same time")
    judge_budget_per_hour: Count = Field(600, description="questions that one process puts to the chat API in an hour")
    judge_max_chars: Annotated[int, Field(ge=200)] = Field(
        8000, description="characters of a text that the judge is shown; of longer text the start and the end"
    )
    judge_max_tokens: Count = Field(1000, description="longest answer of the chat API, its thinking included")
    judge_attempts: Count = Field(24, description="tries of the judge before a text is refused")
    judge_retry_seconds: Seconds = Field(5.0, description="wait after the first try of the judge; doubled each time")
    judge_longest_wait_seconds: Seconds = Field(
        900.0, description="longest wait between two tries of the judge, whatever its server asks for"
    )

    # stores
    postgres_pool_min: Annotated[int, Field(ge=0)] = Field(2, description="connections to PostgreSQL kept open")
    postgres_pool_max: Count = Field(10, description="most connections to PostgreSQL")
    postgres_connect_seconds: Seconds = Field(5.0, description="longest wait for a connection to PostgreSQL")
    postgres_statement_seconds: Seconds = Field(30.0, description="longest run of one statement")
    exact_scan_rows: Count = Field(
        15_000, description="chunks of a group up to which every one is compared; above, the group gets indexes"
    )
    postgres_prepare: bool = Field(True, description="prepare statements; off for a PgBouncer that cannot keep them")
    redis_pool_max: Count = Field(20, description="most connections to Redis or Valkey")
    redis_timeout_seconds: Seconds = Field(2.0, description="longest wait for Redis or Valkey")

    # HTTP
    metrics_groups: bool = Field(False, description="groups, and their agents, as labels of the metrics")
    max_content_bytes: Count = Field(1024 * 1024, description="largest text of one capture or memory")
    max_prompt_bytes: Count = Field(32 * 1024, description="largest system prompt of a group or persona of an agent")
    max_metadata_bytes: Count = Field(64 * 1024, description="largest metadata")
    max_metadata_depth: Count = Field(20, description="deepest nesting of metadata")
    max_body_bytes: Count = Field(16 * 1024 * 1024, description="largest request body")
    idempotency_hours: Seconds = Field(24.0, description="how long an answer is kept for its Idempotency-Key")
    key_memory_seconds: Seconds = Field(300.0, description="how long a checked key is trusted while PostgreSQL is down")

    @property
    def spoken(self) -> Language:
        """The language of the command line."""
        return locale_language() if self.language == "auto" else self.language

    @classmethod
    def variables(cls, name: str) -> tuple[str, ...]:
        """The environment variables that give a setting, the one to name first."""
        alias = cls.model_fields[name].validation_alias
        if isinstance(alias, AliasChoices):
            return tuple(str(choice) for choice in alias.choices if str(choice).isupper())
        return (f"CLEARWELL_{name.upper()}",)

    @classmethod
    def misspelt(cls) -> dict[str, str]:
        """Variables that look like settings and are none, each with the one that was perhaps meant."""
        known = {variable for name in cls.model_fields for variable in cls.variables(name)}
        unknown = [name for name in os.environ if name.startswith("CLEARWELL_") and name not in known | NO_SETTINGS]
        return {name: next(iter(get_close_matches(name, known, n=1)), "") for name in sorted(unknown)}

    def origin(self, name: str) -> Literal["default", "environment", "file"]:
        """Where a setting has its value from."""
        if name not in self.model_fields_set:
            return "default"
        given = {variable.upper() for variable in os.environ}
        return "environment" if given.intersection(self.variables(name)) else "file"

    @field_validator("digest_cron")
    @classmethod
    def _cron_can_be_read(cls, cron: str) -> str:
        if cron.strip() and (len(cron.split()) != 5 or not croniter.is_valid(cron)):
            raise _wrong("cron")
        return cron

    @field_validator("digest_zone")
    @classmethod
    def _zone_is_known(cls, zone: str) -> str:
        try:
            zone_named(zone)
        except ValueError as error:
            raise _wrong("zone") from error
        return zone

    @field_validator("database_url", "redis_url", "judge_base_url", "digest_llm_base_url", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object) -> object:
        """A variable that a Makefile or a container passes on without a value."""
        return None if isinstance(value, str) and not value.strip() else value

    @model_validator(mode="after")
    def _chunks_can_overlap(self) -> "Settings":
        if self.chunk_overlap >= self.chunk_size:
            raise _wrong("overlap", setting="chunk_overlap", size=self.chunk_size)
        return self

    @field_validator("filter_checks")
    @classmethod
    def _checks_in_order(cls, checks: tuple[str, ...]) -> tuple[str, ...]:
        """Cheap before dear: a check may be left out or moved within its stage."""
        stage_of = {check: number for number, stage in enumerate(FILTER_STAGES) for check in stage}
        unknown = [check for check in checks if check not in stage_of]
        if unknown or len(set(checks)) < len(checks):
            raise _wrong("checks", checks=", ".join(stage_of))
        stages = [stage_of[check] for check in checks]
        if stages != sorted(stages):
            raise _wrong("checks_order")
        return checks

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments first, then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=config_path())


__all__ = ["Settings", "config_path", "locale_language"]
