"""Numbers for Prometheus: counts of this process, and how review goes in the database.

Groups and agents are labels only where the operator allows it; else everything is summed up.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from clearwell.app import Clearwell
from clearwell.records import AcceptRate, ReviewStatistics

Counts = Mapping[Any, int]
Statistics = Mapping[str, ReviewStatistics]
"""How review goes, by group."""
Place = tuple[str, ...]
"""The values of a metric's labels."""


class ProgramCollector(Collector):
    """Collects what one running program counted, and the statistics of review where the database answered."""

    def __init__(self, clearwell: Clearwell, review: Statistics | None) -> None:
        self._clearwell = clearwell
        self._review = review
        self._by_group = clearwell.settings.metrics_groups

    def collect(self) -> Iterator[Metric]:
        counters = self._clearwell.counters
        yield self._counter(
            "clearwell_ingress_verdicts",
            "Verdicts of the ingress filter.",
            ["check", "outcome"],
            counters.verdicts,
            private=("group", "agent"),
        )
        yield self._counter("clearwell_admissions", "Captures by how they ended.", ["state"], counters.admissions)
        yield self._counter("clearwell_decisions", "Decisions of people.", ["action"], counters.decisions)
        waiting = GaugeMetricFamily("clearwell_admissions_waiting", "Admissions under way in this process.")
        waiting.add_metric([], self._clearwell.queue.length)
        yield waiting
        if self._review is not None:
            yield from review_metrics(self._review, by_group=self._by_group)

    def _counter(
        self, name: str, text: str, labels: list[str], counted: Counts, *, private: Sequence[str] = ("group",)
    ) -> CounterMetricFamily:
        """Counts by their private labels, which come first, where the operator allows them."""
        family = CounterMetricFamily(name, text, labels=[*(private if self._by_group else ()), *labels])
        sums: Counter[tuple[str, ...]] = Counter()
        for place, count in counted.items():
            sums[place if self._by_group else place[len(private) :]] += count
        for place, count in sorted(sums.items()):
            family.add_metric(list(place), count)
        return family


def review_metrics(statistics: Statistics, *, by_group: bool) -> Iterator[Metric]:
    yield _insights(statistics, by_group)
    yield _lag(statistics, by_group)
    if by_group:
        yield from _accepted("clearwell_accepted", "by agent", ["agent"], _by_agent(statistics), by_group)
    else:
        yield from _accepted("clearwell_accepted", "of all agents, each thing once", [], _once(statistics), by_group)
    yield from _accepted(
        "clearwell_accepted_by_check", "by check", ["check", "outcome"], _by_check(statistics, by_group), by_group
    )
    yield _share(
        "clearwell_memories_retrieved_share",
        "Share of verified memories that retrieval ever returned.",
        {group: (one.memories_used, one.memories) for group, one in statistics.items()},
        by_group,
    )
    yield _share(
        "clearwell_digest_yield",
        "Share of decided insights that were promoted.",
        {group: _decided(one) for group, one in statistics.items()},
        by_group,
    )


def _decided(one: ReviewStatistics) -> tuple[int, int]:
    promoted, rejected = one.insights.get("promoted", 0), one.insights.get("rejected", 0)
    return promoted, promoted + rejected


def _insights(statistics: Statistics, by_group: bool) -> Metric:
    family = GaugeMetricFamily("clearwell_insights", "Insights by state.", labels=[*_group(by_group), "state"])
    sums: Counter[Place] = Counter()
    for group, one in statistics.items():
        for state, count in one.insights.items():
            sums[*_place(group, by_group), state] += count
    for place, count in sorted(sums.items()):
        family.add_metric(place, count)
    return family


def _lag(statistics: Statistics, by_group: bool) -> Metric:
    family = SummaryMetricFamily(
        "clearwell_review_lag_seconds", "From an insight's making to its first decision.", labels=_group(by_group)
    )
    counts: Counter[Place] = Counter()
    seconds: dict[Place, float] = {}
    for group, one in statistics.items():
        place = _place(group, by_group)
        counts[place] += one.lag_count
        seconds[place] = seconds.get(place, 0.0) + one.lag_sum
    for place, count in sorted(counts.items()):
        family.add_metric(place, count_value=count, sum_value=seconds[place])
    return family


def _by_agent(statistics: Statistics) -> Iterator[tuple[Place, AcceptRate]]:
    """What rests on several agents counts for each of them."""
    for group, one in statistics.items():
        for rate in one.by_agent:
            yield (group, rate.by or ""), rate


def _once(statistics: Statistics) -> Iterator[tuple[Place, AcceptRate]]:
    for one in statistics.values():
        yield (), one.accepted


def _by_check(statistics: Statistics, by_group: bool) -> Iterator[tuple[Place, AcceptRate]]:
    for group, one in statistics.items():
        for rate in one.by_check:
            check, _, outcome = (rate.by or "").partition(":")
            yield (*_place(group, by_group), check, outcome), rate


def _accepted(
    name: str, what: str, labels: list[str], rates: Iterator[tuple[Place, AcceptRate]], by_group: bool
) -> Iterator[Metric]:
    """Counts of both decisions, which can be added up further, and the rate of them."""
    promoted: Counter[Place] = Counter()
    rejected: Counter[Place] = Counter()
    for place, rate in rates:
        promoted[place] += rate.promoted
        rejected[place] += rate.rejected
    names = [*_group(by_group), *labels]
    counts = GaugeMetricFamily(f"{name}_decided", f"What was decided, {what}.", labels=[*names, "decision"])
    shares = GaugeMetricFamily(f"{name}_rate", f"Share of what was decided that was promoted, {what}.", labels=names)
    for place in sorted(promoted):
        counts.add_metric([*place, "promoted"], promoted[place])
        counts.add_metric([*place, "rejected"], rejected[place])
        both = promoted[place] + rejected[place]
        if both:
            shares.add_metric(place, promoted[place] / both)
    yield counts
    yield shares


def _share(name: str, text: str, parts: Mapping[str, tuple[int, int]], by_group: bool) -> Metric:
    family = GaugeMetricFamily(name, text, labels=_group(by_group))
    some: Counter[Place] = Counter()
    whole: Counter[Place] = Counter()
    for group, (part, of) in parts.items():
        some[_place(group, by_group)] += part
        whole[_place(group, by_group)] += of
    for place, count in sorted(whole.items()):
        if count:
            family.add_metric(place, some[place] / count)
    return family


def _group(by_group: bool) -> list[str]:
    return ["group"] if by_group else []


def _place(group: str, by_group: bool) -> Place:
    return (group,) if by_group else ()
