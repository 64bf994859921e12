"""Whatever is asked of any route, the answer is one that the OpenAPI document describes, and never a 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.commands import running_simweb
from tests.serve.service import Service, running_service, topic

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = 12


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("openapi")
    with (
        running_simweb(folder, "--sites", "150", "--pages", "1500") as web,
        running_service(folder, web, CRAWL__POLICY="best-first", SERVE__SLOTS="3") as service,
    ):
        service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": {"max_pages": 30}})
        service.wait_for(1, lambda now: now["state"] == "finished")
        yield service


@pytest.fixture(scope="module")
def described(own: Service) -> Any:
    return schemathesis.openapi.from_url(f"{own.address}/openapi.json")


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_answer_is_as_described(described: Any, mode: GenerationMode) -> None:
    for found in described.get_all_operations():
        operation = found.ok()
        if operation.path.endswith("/events"):
            continue  # A stream has no end to wait for; test_feed.py reads it.

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
        def answered(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        with suppress(Unsatisfiable):  # nothing can be wrong about a route without parameters
            answered()


def test_every_route_of_the_design_is_described_with_words(own: Service) -> None:
    _, api = own.call("GET", "/openapi.json")
    base = "/api/v1/crawls"
    promised = {
        base: {"get", "post"},
        f"{base}/{{number}}": {"get", "patch", "delete"},
        **{
            f"{base}/{{number}}/{verb}": {"post"}
            for verb in ("pause", "resume", "stop", "seeds", "feedback", "rejudge")
        },
        **{
            f"{base}/{{number}}/{what}": {"get"}
            for what in ("pages", "pages/{page}", "sites", "metrics", "frontier", "hosts", "events")
        },
        **{path: {"get"} for path in ("/healthz", "/readyz", "/metrics")},
    }
    for path, methods in promised.items():
        assert methods <= api["paths"][path].keys()
    for path, methods in api["paths"].items():
        for route in methods.values():
            assert len(route["description"]) > 10, path
