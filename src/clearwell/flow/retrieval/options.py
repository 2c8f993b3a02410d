"""The options of a retrieval, and the plan that they make together with the settings and the time."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from clearwell.errors import InvalidInput
from clearwell.flow.limits import require_id, require_moment
from clearwell.flow.retrieval.metadata_filters import read_filters
from clearwell.records import Scope, SearchFilter, Source
from clearwell.settings import Settings

MAX_RESULTS: Final = 100
MAX_CHARS: Final = 1_000_000
MAX_DAYS: Final = 36_500
BOTH: Final = (Source.HOT, Source.COLD)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveOptions:
    """What to return. None means the value of the settings.

    ``since`` (inclusive) and ``until`` (exclusive) limit the time at which something was said, else promoted or
    captured; ``time_range_days`` is a ``since`` counted back from now. ``as_of`` asks for what was verified at that
    time and leaves working memory out; a time that is not in the past means now. What was withdrawn or superseded since
    has the label ``withdrawn``, and agents do not get it; what was rejected since is left out. ``max_chars`` cuts each
    item at the end of a sentence; 0 leaves it whole. ``filters`` are conditions on metadata (see
    ``retrieval.metadata_filters``). ``scope`` limits the search to the group's memory, or to the agent's own.

    ``relevance_threshold`` leaves out verified items below it, and ``hot_threshold`` unverified ones. ``recent`` asks
    for the newest entries of working memory, newest first and whatever they say, instead of those that answer the
    query; ``hot_limit`` and ``hot_threshold`` then do not count, and the query may be empty.

    Without ``record`` a person looks: the items do not count as given to an agent. What an agent asks for always does.
    """

    max_results: int | None = None
    hot_limit: int | None = None
    cold_limit: int | None = None
    relevance_threshold: float | None = None
    hot_threshold: float | None = None
    recent: int | None = None
    agent_id: str | None = None
    session_id: str | None = None
    sources: Sequence[Source | str] | None = None
    time_range_days: float | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    filters: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None
    max_chars: int | None = None
    explain: bool = False
    scope: Scope | None = None
    record: bool = True

    def for_agent(self, agent_id: str | None) -> "RetrieveOptions":
        return self if agent_id == self.agent_id else replace(self, agent_id=agent_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalPlan:
    """Checked options in which every default is filled in."""

    max_results: int
    hot_limit: int
    cold_limit: int
    threshold: float | None
    hot_threshold: float
    recent: int | None
    agent_id: str | None
    sources: tuple[Source, ...]
    where: SearchFilter
    max_chars: int
    explain: bool
    now: datetime

    @property
    def reads_working(self) -> bool:
        return Source.HOT in self.sources and self.most_unverified > 0

    @property
    def most_unverified(self) -> int:
        """The most items of working memory."""
        return self.hot_limit if self.recent is None else self.recent

    @property
    def searches_longterm(self) -> bool:
        return Source.COLD in self.sources and self.cold_limit > 0


def plan_retrieval(
    options: RetrieveOptions, settings: Settings, now: datetime, *, withdrawn: bool = False
) -> RetrievalPlan:
    """Check the options and fill in the defaults. Raises InvalidInput.

    With ``withdrawn`` a query about a past time also finds memories that have been withdrawn since.
    """
    as_of = require_moment(options.as_of, "as_of")
    if as_of is not None and as_of >= now:
        as_of = None
    since, until = _resolve_time_range(options, now)
    recent = None if options.recent is None else _resolve_count(options.recent, 0, "recent", least=1)
    cold_limit = _resolve_count(options.cold_limit, settings.cold_limit, "cold_limit")
    most = settings.max_results if recent is None else min(MAX_RESULTS, max(settings.max_results, recent + cold_limit))
    return RetrievalPlan(
        max_results=_resolve_count(options.max_results, most, "max_results", least=1),
        hot_limit=_resolve_count(options.hot_limit, settings.hot_limit, "hot_limit"),
        cold_limit=cold_limit,
        threshold=_resolve_share(options.relevance_threshold, settings.relevance_threshold, "relevance_threshold"),
        hot_threshold=_resolve_share(options.hot_threshold, settings.hot_threshold, "hot_threshold") or 0.0,
        recent=recent,
        agent_id=options.agent_id,
        sources=_resolve_sources(options.sources, as_of),
        where=SearchFilter(
            since=since,
            until=until,
            session_id=require_id(options.session_id, "session_id"),
            as_of=as_of,
            conditions=read_filters(options.filters),
            scope=options.scope,
            still_valid=not withdrawn,
        ),
        max_chars=_resolve_count(options.max_chars, settings.max_chars, "max_chars", most=MAX_CHARS),
        explain=options.explain,
        now=now,
    )


def _resolve_count(value: int | None, default: int, field: str, *, least: int = 0, most: int = MAX_RESULTS) -> int:
    if value is None:
        return default
    if not least <= value <= most:
        raise InvalidInput("option_range", field=field, limit=f"{least}..{most}", value=value)
    return value


def _resolve_share(value: float | None, default: float | None, field: str) -> float | None:
    if value is None:
        return default
    if not 0 <= value <= 1:
        raise InvalidInput("option_range", field=field, limit="0..1", value=value)
    return value


def _resolve_time_range(options: RetrieveOptions, now: datetime) -> tuple[datetime | None, datetime | None]:
    since, until = require_moment(options.since, "from"), require_moment(options.until, "to")
    days = options.time_range_days
    if days is not None:
        if since is not None or until is not None:
            raise InvalidInput("time_range_twice", field="time_range_days")
        if not (math.isfinite(days) and 0 < days <= MAX_DAYS):
            raise InvalidInput("option_range", field="time_range_days", limit=f"0 < … <= {MAX_DAYS}", value=days)
        return now - timedelta(days=days), None
    if since is not None and until is not None and since >= until:
        raise InvalidInput("time_range_empty", field="to")
    return since, until


def _resolve_sources(names: Sequence[Source | str] | None, as_of: datetime | None) -> tuple[Source, ...]:
    """The tiers to search. What was verified in the past is only in long-term memory."""
    if isinstance(names, str) or (names is not None and not names):
        raise InvalidInput("sources_form", field="sources", limit=", ".join(Source))
    try:
        sources = BOTH if names is None else tuple(source for source in BOTH if source in set(map(Source, names)))
    except ValueError:
        raise InvalidInput("sources_form", field="sources", limit=", ".join(Source)) from None
    if as_of is None:
        return sources
    if sources == (Source.HOT,):
        raise InvalidInput("as_of_hot", field="as_of")
    return (Source.COLD,)
