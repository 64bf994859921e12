"""Figures for Prometheus: of the crawls that run, of the requests answered, of the process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from tres_crawler.records import CrawlState, Summary
from tres_crawler.serve.common import known_caller
from tres_crawler.serve.problems import documented

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
COUNTERS: Mapping[str, tuple[str, str]] = {
    "pages": ("tres_crawl_pages", "Pages paid for from the budget."),
    "relevant_pages": ("tres_crawl_relevant_pages_found", "Pages judged relevant."),
    "failed": ("tres_crawl_failed_pages", "Pages that could not be had."),
    "duplicates": ("tres_crawl_duplicate_pages", "Pages that are copies of others."),
}
GAUGES: Mapping[str, tuple[str, str]] = {
    "harvest_rate": ("tres_crawl_harvest_ratio", "Share of relevant pages among all."),
    "sites": ("tres_crawl_sites", "Sites with a page."),
    "relevant_sites": ("tres_crawl_relevant_sites", "Sites with a relevant page."),
    "waiting": ("tres_crawl_waiting_links", "Links that wait."),
    "leaves": ("tres_crawl_leaves", "Leaves of the Tree-Frontier."),
    "seconds": ("tres_crawl_running_seconds", "Time spent running."),
}

router = APIRouter(tags=["service"], dependencies=[Depends(known_caller)])


class Requests:
    """Counts answers by method, route and status; all three have few values."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("method", "route", "status")
        self._answers = Counter("tres_http_requests", "Requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "tres_http_request_duration_seconds",
            "Time to the end of the answer; event streams are left out.",
            ("route",),
            buckets=BUCKETS,
            registry=registry,
        )

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        known = method if method in ("GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS") else "other"
        self._answers.labels(known, route, str(status)).inc()
        if not route.endswith("/events"):
            self._seconds.labels(route).observe(seconds)


class Crawls(Collector):
    """The figures of crawls that run or are paused, labelled by their number; ended ones are left out."""

    def __init__(self, running: Callable[[], Iterable[tuple[CrawlState, Summary]]], slots: Callable[[], int]) -> None:
        self._running = running
        self._slots = slots

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        found = list(self._running())
        states = GaugeMetricFamily("tres_crawls", "Crawls in this process, by state.", labels=["state"])
        for state in (CrawlState.RUNNING, CrawlState.PAUSED):
            states.add_metric([state], sum(one is state for one, _ in found))
        yield states
        yield GaugeMetricFamily("tres_fetches_in_flight", "Fetches under way, over all crawls.", self._slots())
        for field, (name, told) in COUNTERS.items():
            counter = CounterMetricFamily(name, told, labels=["crawl"])
            for _, summary in found:
                counter.add_metric([str(summary.crawl_id)], getattr(summary, field))
            yield counter
        for field, (name, told) in GAUGES.items():
            gauge = GaugeMetricFamily(name, told, labels=["crawl"])
            for _, summary in found:
                gauge.add_metric([str(summary.crawl_id)], getattr(summary, field))
            yield gauge


def create_registry() -> CollectorRegistry:
    """One of its own for every application, with the figures of the process."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    return registry


@router.get("/metrics", response_class=PlainTextResponse, responses=documented(401))
async def metrics(request: Request) -> PlainTextResponse:
    """Figures in the text format of Prometheus; asks for the token where one is set."""
    return PlainTextResponse(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)
