"""Metrics for Prometheus: counts of this process, and statistics of review from the database.

Groups and agents are labels only if the operator allows it; otherwise totals are shown.
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
"""Review statistics by group."""
LabelValues = tuple[str, ...]
"""The values of a metric's labels."""


class ProgramCollector(Collector):
    """Collects the counts of one program, and the statistics of review if the database responded."""

    def __init__(self, clearwell: Clearwell, review: Statistics | None) -> None:
        self._clearwell = clearwell
        self._review = review
        self._by_group = clearwell.settings.metrics_groups

    def collect(self) -> Iterator[Metric]:
        counters = self._clearwell.counters
        yield self._counter(
            "clearwell_ingress_verdicts",
            "Verdicts of the ingress pipeline.",
            ["check", "outcome"],
            counters.verdicts,
            private=("group", "agent"),
        )
        yield self._counter("clearwell_admissions", "Captures by how they ended.", ["state"], counters.admissions)
        yield self._counter("clearwell_decisions", "Decisions of people.", ["action"], counters.decisions)
        yield self._counter("clearwell_events_lost", "Events that could not be written.", [], counters.lost_events)
        waiting = GaugeMetricFamily("clearwell_admissions_waiting", "Admissions under way in this process.")
        waiting.add_metric([], self._clearwell.queue.length)
        yield waiting
        if self._review is not None:
            yield from collect_review(self._review, by_group=self._by_group)

    def _counter(
        self, name: str, text: str, labels: list[str], counted: Counts, *, private: Sequence[str] = ("group",)
    ) -> CounterMetricFamily:
        """Yield counts with the labels of groups and agents, if the operator allows them."""
        family = CounterMetricFamily(name, text, labels=[*(private if self._by_group else ()), *labels])
        sums: Counter[tuple[str, ...]] = Counter()
        for values, count in counted.items():
            sums[values if self._by_group else values[len(private) :]] += count
        for values, count in sorted(sums.items()):
            family.add_metric(list(values), count)
        return family


def collect_review(statistics: Statistics, *, by_group: bool) -> Iterator[Metric]:
    """Yield the statistics of review, by group and agent or in total."""
    yield _collect_insights(statistics, by_group)
    yield _collect_lag(statistics, by_group)
    if by_group:
        yield from _collect_accept_rates(
            "clearwell_accepted", "by agent", ["agent"], _rates_by_agent(statistics), by_group
        )
    else:
        yield from _collect_accept_rates(
            "clearwell_accepted", "of all agents, each thing once", [], _overall_rates(statistics), by_group
        )
    yield from _collect_accept_rates(
        "clearwell_accepted_by_check", "by check", ["check", "outcome"], _rates_by_check(statistics, by_group), by_group
    )
    yield _collect_share(
        "clearwell_memories_retrieved_share",
        "Share of verified memories that retrieval ever returned.",
        {group: (review.memories_used, review.memories) for group, review in statistics.items()},
        by_group,
    )
    yield _collect_share(
        "clearwell_digest_yield",
        "Share of decided insights that were promoted.",
        {group: _count_promoted(review) for group, review in statistics.items()},
        by_group,
    )


def _count_promoted(review: ReviewStatistics) -> tuple[int, int]:
    """The promoted insights, and all that were decided."""
    promoted, rejected = review.insights.get("promoted", 0), review.insights.get("rejected", 0)
    return promoted, promoted + rejected


def _collect_insights(statistics: Statistics, by_group: bool) -> Metric:
    family = GaugeMetricFamily("clearwell_insights", "Insights by state.", labels=[*_group_label(by_group), "state"])
    sums: Counter[LabelValues] = Counter()
    for group, review in statistics.items():
        for state, count in review.insights.items():
            sums[*_group_values(group, by_group), state] += count
    for values, count in sorted(sums.items()):
        family.add_metric(values, count)
    return family


def _collect_lag(statistics: Statistics, by_group: bool) -> Metric:
    family = SummaryMetricFamily(
        "clearwell_review_lag_seconds", "From an insight's making to its first decision.", labels=_group_label(by_group)
    )
    counts: Counter[LabelValues] = Counter()
    seconds: dict[LabelValues, float] = {}
    for group, review in statistics.items():
        values = _group_values(group, by_group)
        counts[values] += review.lag_count
        seconds[values] = seconds.get(values, 0.0) + review.lag_sum
    for values, count in sorted(counts.items()):
        family.add_metric(values, count_value=count, sum_value=seconds[values])
    return family


def _rates_by_agent(statistics: Statistics) -> Iterator[tuple[LabelValues, AcceptRate]]:
    """An insight that is based on several agents counts for each of them."""
    for group, review in statistics.items():
        for rate in review.by_agent:
            yield (group, rate.by or ""), rate


def _overall_rates(statistics: Statistics) -> Iterator[tuple[LabelValues, AcceptRate]]:
    for review in statistics.values():
        yield (), review.accepted


def _rates_by_check(statistics: Statistics, by_group: bool) -> Iterator[tuple[LabelValues, AcceptRate]]:
    for group, review in statistics.items():
        for rate in review.by_check:
            check, _, outcome = (rate.by or "").partition(":")
            yield (*_group_values(group, by_group), check, outcome), rate


def _collect_accept_rates(
    name: str, what: str, labels: list[str], rates: Iterator[tuple[LabelValues, AcceptRate]], by_group: bool
) -> Iterator[Metric]:
    """Counts of both decisions, which can be added up further, and the rate of them."""
    promoted: Counter[LabelValues] = Counter()
    rejected: Counter[LabelValues] = Counter()
    for values, rate in rates:
        promoted[values] += rate.promoted
        rejected[values] += rate.rejected
    names = [*_group_label(by_group), *labels]
    counts = GaugeMetricFamily(f"{name}_decided", f"What was decided, {what}.", labels=[*names, "decision"])
    shares = GaugeMetricFamily(f"{name}_rate", f"Share of what was decided that was promoted, {what}.", labels=names)
    for values in sorted(promoted):
        counts.add_metric([*values, "promoted"], promoted[values])
        counts.add_metric([*values, "rejected"], rejected[values])
        both = promoted[values] + rejected[values]
        if both:
            shares.add_metric(values, promoted[values] / both)
    yield counts
    yield shares


def _collect_share(name: str, text: str, shares: Mapping[str, tuple[int, int]], by_group: bool) -> Metric:
    family = GaugeMetricFamily(name, text, labels=_group_label(by_group))
    counts: Counter[LabelValues] = Counter()
    totals: Counter[LabelValues] = Counter()
    for group, (count, total) in shares.items():
        counts[_group_values(group, by_group)] += count
        totals[_group_values(group, by_group)] += total
    for values, total in sorted(totals.items()):
        if total:
            family.add_metric(values, counts[values] / total)
    return family


def _group_label(by_group: bool) -> list[str]:
    return ["group"] if by_group else []


def _group_values(group: str, by_group: bool) -> LabelValues:
    return (group,) if by_group else ()
