"""Numbers for Prometheus. Groups and agents are labels only where the operator allows it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import structlog
from fastapi import APIRouter, Request
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from clearwell.adapters.http import openapi
from clearwell.adapters.http.callers import Caller, running
from clearwell.adapters.http.review_metrics import Numbers, review_metrics
from clearwell.app import Clearwell
from clearwell.errors import Unavailable
from clearwell.flow.access.permissions import require_right
from clearwell.records import Right

log = structlog.get_logger(__name__)
router = APIRouter(tags=["health"])
Counts = Mapping[Any, int]
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get(
    "/metrics",
    summary="Numbers for Prometheus",
    description="Counts of this process since it started, and how review goes in the database, read once a minute. "
    "The scope admin is needed.",
    response_class=Response,
    responses={
        200: {"description": "The numbers.", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}},
        **openapi.responses({}, (401, 403)),
    },
)
async def metrics(request: Request, caller: Caller) -> Response:
    require_right(caller, Right.ADMIN)
    registry = CollectorRegistry()
    registry.register(_Numbers(running(request), await _review_numbers(running(request))))
    return Response(generate_latest(registry), media_type=MEDIA_TYPE)


async def _review_numbers(clearwell: Clearwell) -> Numbers | None:
    """None where the database does not answer: what this process counted is told all the same."""
    try:
        return await clearwell.statistics.read()
    except Unavailable as error:
        log.warning("no numbers of review", reason=error.code)
        return None


class _Numbers(Collector):
    def __init__(self, clearwell: Clearwell, review: Numbers | None) -> None:
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
