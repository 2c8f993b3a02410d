"""Requests that the OpenAPI document allows, and requests that it does not: every answer is one that it describes.

schemathesis makes them for every operation, with one caller of each kind in turn. A part of the ids is replaced by ids
that exist, because hardly any request would get further than "not found" otherwise.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks, not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from clearwell.adapters.http import create_app
from clearwell.models import OfflineEmbedder
from clearwell.settings import Settings
from tests.integration.http.documented import EXAMPLES, GROUP, KINDS, Edge, serve_full
from tests.integration.http.route_rules import RULES, unname

load_all_checks()
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SCHEMA = schemathesis.openapi.from_dict(create_app().openapi())
OPERATIONS: dict[str, Any] = {result.ok().label: result.ok() for result in SCHEMA.get_all_operations()}  # type: ignore[union-attr]
STREAM = "text/event-stream"
SECONDS = 30
STEPS = 6
HYPOTHESIS = settings(
    derandomize=True, database=None, deadline=None, stateful_step_count=STEPS, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
async def edge(
    module_settings: Settings, offline_embedder: OfflineEmbedder, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Edge]:
    async with serve_full(module_settings, offline_embedder, tmp_path_factory.mktemp("edge")) as running:
        yield running


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    with requests.Session() as made:
        made.trust_env = False
        # The server closes a connection that was idle for some seconds, which drawing the next request may take.
        made.headers["Connection"] = "close"
        yield made


def route_names(label: str) -> dict[str, str]:
    """Which thing each parameter of a path names: the rules of routes say it."""
    method, path = label.split(" ")
    for route in RULES:
        ruled_method, ruled = route.split(" ")
        if (ruled_method, unname(ruled)) == (method, unname(path)):
            pairs = zip(path.split("/"), ruled.split("/"), strict=True)
            return {mine.strip("{}"): theirs.strip("{}") for mine, theirs in pairs if mine.startswith("{")}
    raise AssertionError(f"no rule for {label}")


def send(edge: Edge, session: requests.Session, case: Any, caller: str) -> requests.Response | None:
    """The answer; None for a stream of events, of which only the head is looked at."""
    wanted = case.as_transport_kwargs(base_url=edge.url)
    wanted["headers"] = {**wanted.get("headers", {}), **edge.headers[caller]}
    answer = session.request(**wanted, stream=True, timeout=SECONDS, allow_redirects=False)
    if answer.headers.get("content-type", "").startswith(STREAM):
        assert answer.status_code == 200
        answer.close()
        return None
    answer.content  # noqa: B018 - read the body
    return answer


@pytest.mark.parametrize("label", sorted(OPERATIONS))
def test_every_answer_is_described(edge: Edge, session: requests.Session, label: str) -> None:
    operation, names = OPERATIONS[label], route_names(label)
    cases = st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode])

    @settings(HYPOTHESIS, max_examples=EXAMPLES * len(KINDS))
    @given(case=cases, caller=st.sampled_from(sorted(KINDS)), real=st.booleans())
    def ask(case: Any, caller: str, real: bool) -> None:
        if real:
            use_existing(case, names, edge)
        answer = send(edge, session, case, caller)
        if answer is not None:
            case.validate_response(answer, checks=CHECKS)

    ask()


def use_existing(case: Any, names: dict[str, str], edge: Edge) -> None:
    """Put ids that exist into the path, and the group wherever it is named."""
    case.path_parameters = {
        name: edge.names.get(names.get(name, name), value) for name, value in case.path_parameters.items()
    }
    if "group_id" in case.query:
        case.query["group_id"] = edge.names["group"]
    if isinstance(case.body, dict) and "group_id" in case.body:
        case.body["group_id"] = edge.names["group"]


def test_every_answer_in_a_chain_of_requests_is_described(edge: Edge, session: requests.Session) -> None:
    """Requests about what earlier answers named: schemathesis follows ids from answers to requests.

    Without the stream of events, which does not end: the other test looks at its head.
    """
    served: set[str] = set()

    class Chain(SCHEMA.exclude(path="/api/v1/events").as_state_machine()):  # type: ignore[misc]
        """An operator, whose requests are about the group in which there is something."""

        def before_call(self, case: Any) -> None:
            for part in (case.path_parameters, case.query, case.body):
                if isinstance(part, dict) and "group_id" in part:
                    part["group_id"] = GROUP

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            headers = dict(edge.headers["operator"])
            return {"base_url": edge.url, "session": session, "headers": headers, "timeout": SECONDS}

        def validate_response(self, response: Any, case: Any, **kwargs: Any) -> None:
            case.validate_response(response, checks=CHECKS)
            if response.status_code < 400:
                served.add(case.operation.label)

    Chain.run(settings=settings(HYPOTHESIS, max_examples=16 * EXAMPLES, phases=[Phase.generate]))
    assert len(served) >= 3, "the chains reach what exists"


def test_no_request_failed_in_the_log(edge: Edge) -> None:
    """The last one: the server was asked everything above."""
    assert "request failed" not in edge.serving.errors.read_text()
