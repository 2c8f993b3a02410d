"""All settings of Clearwell. This is the only module that reads the environment.

Each setting is ``CLEARWELL_<NAME>`` in the environment or ``<name>`` in ``clearwell.toml`` (in the working
directory, or at ``CLEARWELL_CONFIG``). ``DATABASE_URL`` and ``REDIS_URL`` are accepted without the prefix.
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
from clearwell.vocabulary import IngressCheck

NO_ZONES = frozenset({"Factory", "localtime", "posixrules"})
"""Files in the time zone database that are not the name of a zone, or mean a different zone on each machine."""
NO_SETTINGS = frozenset({"CLEARWELL_CONFIG", "CLEARWELL_KEY", "CLEARWELL_EVAL"})

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]
Weight = Annotated[float, Field(ge=0, le=100)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def _invalid(reason: str, **more: object) -> PydanticCustomError:
    """Build a validation error whose text is the message ``cli_reason_<reason>``."""
    return PydanticCustomError(reason, catalogue()[f"cli_reason_{reason}"]["en"], more)


def config_path() -> Path:
    """Return the path of the settings file, which may not exist."""
    return Path(os.environ.get("CLEARWELL_CONFIG", "clearwell.toml"))


def locale_language() -> Language:
    """Return the language of the locale: the first of LC_ALL, LC_MESSAGES and LANG that is set decides."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return "zh" if locale.startswith("zh") else "en"


def find_zone(name: str) -> ZoneInfo:
    """Return the time zone with this IANA name. Raises ValueError if there is none."""
    if name in NO_ZONES or name.startswith(("posix/", "right/")):
        raise ValueError(name)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(name) from error


class NodePolicy(BaseModel):
    """Where outputs of one node type may go."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    admit: bool = Field(True, description="may enter working memory")
    digest: bool = Field(True, description="is a candidate for the digest")


CHECK_STAGES = (
    (IngressCheck.CONFIDENCE, IngressCheck.LENGTH, IngressCheck.INSTRUCTION, IngressCheck.SUBSTANCE),
    (IngressCheck.TOMBSTONE, IngressCheck.ECHO, IngressCheck.NON_DUPLICATE),
    (IngressCheck.SELF_CONSISTENCY,),
)


class Settings(BaseSettings):
    """The settings. The defaults are the numbers of the protocol where it names one."""

    model_config = SettingsConfigDict(env_prefix="CLEARWELL_", extra="forbid", frozen=True, populate_by_name=True)

    # where things are
    data_dir: Path = Field(
        default_factory=lambda: user_data_path("clearwell"), description="folder for the data of the bundled servers"
    )
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8080, ge=1, le=65535, description="port to listen on")
    database_url: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("CLEARWELL_DATABASE_URL", "DATABASE_URL", "database_url"),
        description="address of a PostgreSQL to use instead of the bundled one",
    )
    redis_url: SecretStr | None = Field(
        None,
        validation_alias=AliasChoices("CLEARWELL_REDIS_URL", "REDIS_URL", "redis_url"),
        description="address of a Redis or Valkey to use instead of the bundled one",
    )
    language: Literal["auto", "en", "zh"] = Field(
        "auto", description="language of the command line; auto uses the locale"
    )

    actor: Literal["person", "agent"] = Field(
        "person", description="who uses the command line; an agent can capture and read, but not decide"
    )
    api_key: SecretStr | None = Field(
        None, description="key that commands send; without one they act as the local user"
    )
    audit_key: SecretStr | None = Field(
        None,
        description="key that signs the audit trail, 32 bytes in base64; without one, the file audit.key in the data "
        "folder is used",
    )

    # ingress pipeline
    ingress_checks: tuple[str, ...] = Field(
        tuple(check.value for stage in CHECK_STAGES for check in stage), description="the ingress checks, in order"
    )
    confidence_threshold: Share = Field(0.8, description="refuse outputs with a lower confidence")
    require_confidence: bool = Field(False, description="refuse outputs without a confidence")
    min_width: Annotated[int, Field(ge=0)] = Field(
        50, description="refuse texts with fewer columns; a wide character counts as two"
    )
    refuse_instructions: bool = Field(
        True, description="refuse outputs that give an instruction to the model that reads them; off: only flag them"
    )
    require_substance: bool = Field(True, description="refuse outputs without a claim or a decision")
    duplicate_similarity: Share = Field(0.9, description="calibrated similarity from which two texts can be the same")
    conflict_similarity: Share = Field(
        0.55, description="calibrated similarity from which a changed fact is a conflict"
    )
    near_rejected_similarity: Share = Field(
        0.6, description="calibrated similarity to a rejected text from which a text is flagged"
    )
    echo_coverage: Share = Field(
        0.8, description="share of a sentence found in recalled memories from which it is an echo"
    )
    recall_seconds: Seconds = Field(24 * 3600.0, description="how long recalls are kept")
    node_policies: dict[str, NodePolicy] = Field(
        default_factory=dict, description="policies by node type, in addition to the built-in ones"
    )
    require_self_consistency: bool = Field(False, description="refuse outputs that no judge has checked")

    # working memory
    working_ttl_seconds: Seconds = Field(24 * 3600.0, description="lifetime of an entry of working memory")
    working_size: Count = Field(50, description="entries kept in working memory per group")
    working_agent_share: Share = Field(
        0.5, description="share of these entries that one agent keeps while others need the room; 1: no such limit"
    )
    working_content_bytes: Count = Field(16 * 1024, description="longer texts are shortened in working memory")

    # promotion
    chunk_size: Count = Field(500, description="characters in one chunk of long-term memory")
    chunk_overlap: Annotated[int, Field(ge=0)] = Field(50, description="characters that neighbouring chunks share")
    chunk_separators: tuple[str, ...] = Field(
        ("\n\n", "\n", "。", "！", "？", "；", " ", ""), description="where texts are split, in order of preference"
    )

    # retrieval
    hot_limit: Annotated[int, Field(ge=0)] = Field(10, description="most items from working memory in an answer")
    cold_limit: Annotated[int, Field(ge=0)] = Field(5, description="most items from long-term memory in an answer")
    max_results: Count = Field(15, description="most items in an answer; also in both memory sections of a context")
    hot_first_relevance: Share = Field(
        0.85, description="unverified items with this relevance come before verified ones that do not answer the query"
    )
    relevance_threshold: Share | None = Field(
        None, description="exclude items from long-term memory with a lower relevance"
    )
    hot_threshold: Share = Field(0.35, description="exclude items from working memory with a lower relevance")
    node_relevance_threshold: Share = Field(0.7, description="relevance_threshold of the memory retrieval node")
    max_chars: Count = Field(
        500, description="most characters of an item; longer texts are shortened at the end of a sentence"
    )
    context_max_tokens: Annotated[int, Field(ge=200)] = Field(4000, description="most tokens in a context")
    agent_memory_limit: Annotated[int, Field(ge=0, le=100)] = Field(
        5, description="most memories of the agent in a context"
    )
    retrieve_timeout_seconds: Seconds = Field(
        2.0, description="longest time for retrieval, even if components are down"
    )
    fusion_dense: Weight = Field(1 / 3, description="weight of vectors in the ranking of long-term memory; 0: off")
    fusion_lexical: Weight = Field(0.7, description="weight of the words of the query; 0: off")
    fusion_author: Weight = Field(0.25, description="weight of the speaker that the query names; 0: off")
    fusion_neighbour: Weight = Field(0.15, description="weight of the better neighbour in the session; 0: off")
    fusion_answer: Weight = Field(0.2, description="weight of a question just before it in the session; 0: off")
    fusion_session: Weight = Field(0.2, description="weight of the best item of the session; 0: off")
    fusion_dates: Weight = Field(1.0, description="weight of dates among the words of the query; 0: off")

    # digest
    digest_cron: str = Field(
        "0 6 * * 1", description="schedule of digests for groups without one of their own; empty: only on request"
    )
    digest_zone: str = Field("UTC", description="time zone of digest_cron, such as Asia/Shanghai")
    digest_looks: Count = Field(4, description="number of digests that consider the same output")
    digest_attempts: Count = Field(5, description="attempts at a digest before it fails")
    digest_retry_seconds: Seconds = Field(30.0, description="pause after the first failed attempt; doubled each time")
    digest_stalled_seconds: Annotated[float, Field(ge=1)] = Field(
        30.0, description="time without a heartbeat after which another worker continues a digest"
    )
    digest_llm_base_url: str | None = Field(
        None, description="address of the chat API that writes insights; empty: insights quote their sources"
    )
    digest_llm_model: str = Field("", description="model name at that API; required with an address")
    digest_llm_api_key: SecretStr | None = Field(None, description="key of that API")
    digest_llm_timeout_seconds: Seconds = Field(60.0, description="longest wait for one answer of that API")
    digest_llm_max_chars: Annotated[int, Field(ge=200)] = Field(
        12000, description="most characters of sources in one request to that API"
    )
    digest_llm_max_tokens: Count = Field(2000, description="most tokens of an answer of that API, including reasoning")
    digest_llm_finds_statements: bool = Field(
        False, description="let that API find the statements of admitted outputs; it is asked once for each output"
    )
    digest_llm_input_price: Price | None = Field(None, description="price of a million input tokens at that API")
    digest_llm_output_price: Price | None = Field(None, description="price of a million output tokens at that API")
    digest_min_insights: Count = Field(5, description="fewest insights in a digest, if there is enough material")
    digest_max_insights: Count = Field(10, description="most insights in a digest")

    # capture and admission
    wait_seconds: Seconds = Field(5.0, description="longest wait of a capture with wait=true")
    sweep_seconds: Seconds = Field(5.0, description="pause between two sweeps for unfinished admissions")
    admission_attempts: Count = Field(
        10, description="attempts at an admission that fails with an error before the output is refused"
    )
    admission_lease_seconds: Annotated[float, Field(ge=1)] = Field(
        30.0, description="time without a heartbeat after which another process takes over an admission"
    )
    admission_batch: Count = Field(32, description="most outputs of a group that are admitted together")

    # middleware
    middleware_seconds: Seconds = Field(
        2.0, description="longest wait of the middleware for the memory before a node; then the node has no context"
    )
    spool_dir: Path | None = Field(
        None, description="folder for captures of the middleware that wait for delivery; default: spool in data_dir"
    )
    spool_max_days: Annotated[float, Field(gt=0)] = Field(
        7.0, description="how long captures wait for delivery before they are dropped"
    )
    spool_max_bytes: Annotated[int, Field(ge=1024)] = Field(
        256 * 1024 * 1024,
        description="most bytes of captures of a process that wait for delivery; the oldest are dropped",
    )

    # embedding
    embedder: Literal["offline", "openai"] = Field(
        "offline", description="offline: bundled model; openai: any compatible API"
    )
    embedding_model: str = Field("text-embedding-ada-002", description="model name at the embedding API")
    embedding_base_url: str = Field("https://api.openai.com/v1", description="address of the embedding API")
    embedding_api_key: SecretStr | None = Field(None, description="key of the embedding API")
    embedding_dimensions: Count | None = Field(None, description="dimensions requested from the embedding API")
    embedding_timeout_seconds: Seconds = Field(10.0, description="longest wait for one answer of the embedding API")
    embedding_retries: Annotated[int, Field(ge=0)] = Field(3, description="retries at the embedding API")
    embedding_batch: Count = Field(64, description="most texts in one request to the embedding API")

    embedding_price: Price | None = Field(None, description="price of a million tokens at the embedding API")
    other_embedding_api_key: SecretStr | None = Field(
        None, description="key of the other embedding API while the model is being changed"
    )

    # judge
    judge_base_url: str | None = Field(
        None,
        description="address of the chat API of the judge, which also rates the claims of fact checks; empty: no judge",
    )
    judge_model: str = Field("", description="model name at the chat API; required with an address")
    judge_api_key: SecretStr | None = Field(None, description="key of the chat API")
    judge_timeout_seconds: Seconds = Field(20.0, description="longest wait for one answer of the chat API")
    judge_concurrency: Count = Field(2, description="most concurrent requests to the chat API")
    judge_budget_per_hour: Count = Field(600, description="most requests of one process to the chat API per hour")
    judge_budget_per_day: Annotated[int, Field(ge=0)] = Field(
        10_000, description="most requests of one process to the chat API in 24 hours; 0: no limit"
    )
    judge_max_chars: Annotated[int, Field(ge=200)] = Field(
        8000, description="most characters of a text for the judge; of longer texts it gets the start and the end"
    )
    judge_max_tokens: Count = Field(1000, description="most tokens of an answer of the chat API, including reasoning")
    judge_input_price: Price | None = Field(None, description="price of a million input tokens at the chat API")
    judge_output_price: Price | None = Field(None, description="price of a million output tokens at the chat API")
    price_currency: str = Field("USD", description="currency of all prices")
    judge_attempts: Count = Field(24, description="attempts at the judge before an output is refused")
    judge_retry_seconds: Seconds = Field(
        5.0, description="pause after the first failed attempt at the judge; doubled each time"
    )
    judge_longest_wait_seconds: Seconds = Field(
        900.0, description="longest pause between two attempts at the judge, even if its server requests a longer one"
    )

    # stores
    postgres_pool_min: Annotated[int, Field(ge=0)] = Field(2, description="connections to PostgreSQL kept open")
    postgres_pool_max: Count = Field(10, description="most connections to PostgreSQL")
    postgres_connect_seconds: Seconds = Field(5.0, description="longest wait for a connection to PostgreSQL")
    postgres_statement_seconds: Seconds = Field(30.0, description="longest execution of one SQL statement")
    exact_scan_rows: Count = Field(15_000, description="most chunks of a group that are searched without indexes")
    postgres_prepare: bool = Field(True, description="prepare statements; off for a PgBouncer without support for them")
    redis_pool_max: Count = Field(20, description="most connections to Redis or Valkey")
    redis_timeout_seconds: Seconds = Field(2.0, description="longest wait for Redis or Valkey")

    # events
    event_stream_length: Count = Field(5_000, description="events of a group that are kept for readers")
    event_stream_seconds: Seconds = Field(24 * 3600.0, description="how long they are kept after the last one")
    event_readers_max: Count = Field(100, description="most readers of events at a time in one process")
    event_readers_per_key: Count = Field(20, description="most readers of events at a time with one key in one process")

    # HTTP
    metrics_groups: bool = Field(False, description="label metrics with groups and agents")
    max_content_bytes: Count = Field(1024 * 1024, description="largest text of one capture or memory")
    max_query_bytes: Count = Field(8 * 1024, description="largest query; also the most characters when normalised")
    max_prompt_bytes: Count = Field(32 * 1024, description="largest system prompt of a group or persona of an agent")
    max_metadata_bytes: Count = Field(64 * 1024, description="largest metadata")
    max_metadata_depth: Count = Field(20, description="deepest nesting of metadata")
    max_body_bytes: Count = Field(16 * 1024 * 1024, description="largest request body")
    key_requests_per_minute: Annotated[int, Field(ge=0)] = Field(
        6000, description="most requests per minute with one key at one process; 0: no limit"
    )
    key_requests_waiting: Count = Field(
        100, description="most requests with one key that wait while others are answered and the process is behind"
    )
    body_seconds: Seconds = Field(30.0, description="longest time for a request body to arrive")
    idempotency_hours: Seconds = Field(24.0, description="how long answers are kept for an Idempotency-Key")
    key_memory_seconds: Seconds = Field(300.0, description="how long a known key is accepted while PostgreSQL is down")

    @property
    def spool_path(self) -> Path:
        """Return the folder for captures that wait for delivery."""
        return self.data_dir / "spool" if self.spool_dir is None else self.spool_dir

    @property
    def display_language(self) -> Language:
        """Return the language of the command line."""
        return locale_language() if self.language == "auto" else self.language

    @classmethod
    def variables(cls, name: str) -> tuple[str, ...]:
        """Return the environment variables of a setting, the preferred one first."""
        alias = cls.model_fields[name].validation_alias
        if isinstance(alias, AliasChoices):
            return tuple(str(choice) for choice in alias.choices if str(choice).isupper())
        return (f"CLEARWELL_{name.upper()}",)

    @classmethod
    def find_misspelt_variables(cls) -> dict[str, str]:
        """Return environment variables that look like settings but are not, each with the closest setting or ""."""
        known = {variable for name in cls.model_fields for variable in cls.variables(name)}
        unknown = [name for name in os.environ if name.startswith("CLEARWELL_") and name not in known | NO_SETTINGS]
        return {name: next(iter(get_close_matches(name, known, n=1)), "") for name in sorted(unknown)}

    def origin(self, name: str) -> Literal["default", "environment", "file"]:
        """Return where the value of a setting comes from."""
        if name not in self.model_fields_set:
            return "default"
        given = {variable.upper() for variable in os.environ}
        return "environment" if given.intersection(self.variables(name)) else "file"

    @field_validator("digest_cron")
    @classmethod
    def _cron_can_be_read(cls, cron: str) -> str:
        if cron.strip() and (len(cron.split()) != 5 or not croniter.is_valid(cron)):
            raise _invalid("cron")
        return cron

    @field_validator("digest_zone")
    @classmethod
    def _zone_is_known(cls, zone: str) -> str:
        try:
            find_zone(zone)
        except ValueError as error:
            raise _invalid("zone") from error
        return zone

    @field_validator("database_url", "redis_url", "api_key", "judge_base_url", "digest_llm_base_url", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object) -> object:
        """Treat a variable without a value, as a Makefile or container may pass it, as not set."""
        return None if isinstance(value, str) and not value.strip() else value

    @model_validator(mode="after")
    def _chunks_can_overlap(self) -> "Settings":
        if self.chunk_overlap >= self.chunk_size:
            raise _invalid("overlap", setting="chunk_overlap", size=self.chunk_size)
        return self

    @field_validator("ingress_checks")
    @classmethod
    def _checks_in_order(cls, checks: tuple[str, ...]) -> tuple[str, ...]:
        """Require cheap checks before expensive ones. A check may be omitted or moved within its stage."""
        stage_of: dict[str, int] = {check: number for number, stage in enumerate(CHECK_STAGES) for check in stage}
        unknown = [check for check in checks if check not in stage_of]
        if unknown or len(set(checks)) < len(checks):
            raise _invalid("checks", checks=", ".join(stage_of))
        stages = [stage_of[check] for check in checks]
        if stages != sorted(stages):
            raise _invalid("checks_order")
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
        """Read arguments first, then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=config_path())


__all__ = ["Settings", "config_path", "locale_language"]
