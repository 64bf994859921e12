"""Whatever is wrong with a request is said clearly, and nothing comes of it."""

from __future__ import annotations

import http.client
import json
import math
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError

from tests.serve.service import Service
from tres_crawler.serve.control import StartCrawl

START = {"topic": {"name": "x", "keywords": ["y"], "seeds": ["http://a.example/"]}}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "told"),
    [
        ("POST", "/crawls", b'{"topic": ', 400, "JSON"),
        ("POST", "/crawls", b"\xff\xfe", 400, "body"),
        ("POST", "/crawls", b"[]", 422, "must be a JSON object"),
        ("POST", "/crawls", None, 422, "Content-Type: application/json"),
        ("POST", "/crawls", {"topic": {**START["topic"], "name": "\ud800"}}, 422, "lone surrogate"),
        ("POST", "/crawls", {"topic": {**START["topic"], "keywords": ["y", "\udfff"]}}, 422, "lone surrogate"),
        ("POST", "/crawls", {"topic": {**START["topic"], "seeds": ["http://\ud800.example/"]}}, 422, "lone surrogate"),
        ("POST", "/crawls", {"topic": "\ud800"}, 422, "lone surrogate"),
        ("POST", "/crawls", {**START, "\ud800": 3}, 422, "lone surrogate"),
        ("POST", "/crawls", {**START, "speed": 3}, 422, "speed"),
        ("POST", "/crawls", {"topic": 7}, 422, "topic"),
        ("POST", "/crawls", {"topic": {"name": "x", "keywords": ["y"]}}, 422, "no seeds"),
        ("POST", "/crawls", {"topic": {"name": "x", "keywords": [], "seeds": ["http://a.example/"]}}, 422, "keywords"),
        ("POST", "/crawls", {"topic": {**START["topic"], "seeds": ["ftp://a.example/"]}}, 422, "ftp://a.example/"),
        ("POST", "/crawls", {"topic": "../../etc/passwd"}, 422, "no topic named"),
        ("POST", "/crawls", {**START, "crawl": {"max_pages": -1}}, 422, "max_pages"),
        ("POST", "/crawls", {**START, "crawl": {"policy": "magic"}}, 422, "policy"),
        ("POST", "/crawls", {**START, "recrawl": {"mode": "always"}}, 422, "recrawl.mode"),
        ("POST", "/crawls", {**START, "recrawl": {"half_life_seconds": math.inf}}, 422, "finite number"),
        ("POST", "/crawls", {**START, "policy_from": 99}, 404, "no crawl 99"),
        ("POST", "/crawls", {**START, "policy_from": 2}, 409, "learned nothing"),
        ("POST", "/crawls", {**START, "crawl": {"seed": 10**20}}, 422, "seed"),
        ("POST", "/crawls", {"topic": {"name": "x", "keyword": ["y"]}}, 422, 'Did you mean "keywords"'),
        ("POST", "/crawls", {**START, "crawl": {"max_page": 3}}, 422, 'Did you mean "max_pages"'),
        ("GET", f"/crawls/{10**20}", None, 422, "number"),
        ("GET", "/crawls/0", None, 422, "number"),
        ("GET", "/crawls/one", None, 422, "number"),
        ("GET", "/crawls/99", None, 404, "no crawl 99"),
        ("GET", "/crawls/99/pages", None, 404, "no crawl 99"),
        ("GET", "/crawls/99/events", None, 404, "no crawl 99"),
        ("GET", "/crawls/1/pages/9999", None, 404, "no page 9999"),
        ("GET", "/crawls/1/pages?limit=0", None, 422, "limit"),
        ("GET", "/crawls/1/pages?cursor=nonsense", None, 422, "cursor"),
        ("GET", "/crawls/1/sites?cursor=WyJzaXRlcyIsMl0", None, 422, "cursor"),
        ("GET", "/crawls/1/pages?since=yesterday", None, 422, "since"),
        ("GET", "/crawls/1/metrics?points=1000000", None, 422, "points"),
        ("POST", "/crawls/1/pause", None, 409, "finished"),
        ("POST", "/crawls/1/stop", None, 409, "finished"),
        ("POST", "/crawls/1/resume", None, 409, "max_pages"),
        ("POST", "/crawls/2/pause", None, 409, "paused"),
        ("POST", "/crawls/2/rejudge", None, 409, "by itself"),
        ("POST", "/crawls/99/rejudge", None, 404, "no crawl 99"),
        ("DELETE", "/crawls/2", None, 409, "stop it"),
        ("DELETE", "/crawls/99", None, 404, "no crawl 99"),
        ("PATCH", "/crawls/1", {}, 422, "Nothing to change"),
        ("PATCH", "/crawls/1", {"max_pages": 5}, 409, "has 300 pages"),
        ("PATCH", "/crawls/2", {"max_per_site": "many"}, 422, "not a cap"),
        ("PATCH", "/crawls/2", {"policy": "random"}, 422, "policy"),
        ("POST", "/crawls/2/seeds", {"seeds": []}, 422, "seeds"),
        ("POST", "/crawls/2/seeds", {"seeds": ["javascript:alert(1)"]}, 422, "not an http"),
        ("POST", "/crawls/2/seeds", {"seeds": ["http://a.example/\ud800"]}, 422, "lone surrogate"),
        ("POST", "/crawls/1/feedback", {"page": 1}, 422, "relevant"),
        ("POST", "/crawls/1/feedback", {"page": 1, "relevant": "often"}, 422, "relevant"),
        ("POST", "/crawls/1/feedback", {"page": 9999, "relevant": True}, 404, "no page 9999"),
        ("GET", "/nothing", None, 404, "no route"),
        ("PUT", "/crawls", None, 405, "PUT /api/v1/crawls"),
    ],
)
def test_what_is_wrong_is_told(served: Service, method: str, path: str, body: object, status: int, told: str) -> None:
    answered, problem = served.call(method, f"/api/v1{path}", body)
    assert (answered, problem["status"]) == (status, status), problem
    assert told in problem["detail"]
    assert problem["type"].startswith("/problems/")
    assert len(served.get("")["items"]) == 2, "nothing was started"


def test_a_body_that_is_nested_too_deeply_to_be_read_is_refused() -> None:
    nested: list[object] = []
    for _ in range(10_000):
        nested = [nested]
    with pytest.raises(ValidationError, match="nested too deeply"):
        StartCrawl.model_validate({**START, "crawl": {"seed": nested}})


def raw(
    served: Service, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> tuple[int, dict[str, str]]:
    """A request with any headers at all; status and headers of the answer."""
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=30)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    assert json.loads(answer.read() or b"{}") is not None
    connection.close()
    return answer.status, dict(answer.getheaders())


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("OPTIONS", "/api/v1/crawls", {"GET", "HEAD", "POST"}),
        ("PUT", "/api/v1/crawls/1", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("POST", "/api/v1/crawls/1", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("HEAD", "/api/v1/crawls/1/stop", {"POST"}),
        ("HEAD", "/api/v1/crawls/1/events", {"GET"}),
        ("HEAD", "/api/v1/crawls/1/export", {"GET"}),
        ("OPTIONS", "/healthz", {"GET", "HEAD"}),
        ("POST", "/static/base.css", {"GET", "HEAD"}),
    ],
)
def test_a_wrong_method_is_told_with_all_that_the_path_has(
    served: Service, method: str, path: str, allowed: set[str]
) -> None:
    status, headers = raw(served, method, path, {})
    assert status == 405
    assert set(headers["allow"].split(", ")) == allowed


@pytest.mark.parametrize("path", ["/api/v1/crawls/1", "/api/v1/crawls/1/pages", "/api/v1/crawls/99", "/healthz", "/"])
def test_head_is_answered_as_get_without_the_body(served: Service, path: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=30)
    seen = []
    for method in ("GET", "HEAD"):
        connection.request(method, path)
        answer = connection.getresponse()
        seen.append((answer.status, answer.getheader("Content-Type"), answer.getheader("Content-Length")))
        body = answer.read()
    connection.close()
    assert seen[0] == seen[1]
    assert body == b""


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""])
def test_a_host_header_that_is_not_ours_is_refused(served: Service, host: str) -> None:
    assert raw(served, "GET", "/api/v1/crawls", {"Host": host})[0] == 421


def test_loopback_names_are_ours(served: Service) -> None:
    port = urlsplit(served.address).port
    for host in (f"localhost:{port}", f"LOCALHOST:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert raw(served, "GET", "/api/v1/crawls", {"Host": host})[0] == 200


def test_a_page_of_another_site_changes_nothing(served: Service) -> None:
    for origin in ("http://evil.example", "null", "http://["):
        assert raw(served, "POST", "/api/v1/crawls/2/resume", {"Origin": origin})[0] == 403
        status, headers = raw(served, "GET", "/api/v1/crawls", {"Origin": origin})
        assert status == 200
        assert not [name for name in headers if name.lower().startswith("access-control")], "no CORS"
    for said in ("cross-site", "same-site"):
        assert raw(served, "POST", "/api/v1/crawls/2/resume", {"Sec-Fetch-Site": said})[0] == 403


def test_a_page_of_another_port_changes_nothing(served: Service) -> None:
    port = urlsplit(served.address).port
    assert port is not None
    for origin in (f"http://127.0.0.1:{port + 1}", "http://127.0.0.1", f"http://localhost:{port}"):
        assert raw(served, "POST", "/api/v1/crawls/2/resume", {"Origin": origin})[0] == 403


def test_a_page_of_the_service_itself_may_change_things(served: Service) -> None:
    for headers in (
        {"Origin": served.address, "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://localhost", "Host": "localhost"},
        {"Origin": "https://localhost", "Host": "localhost:443"},
        {"Sec-Fetch-Site": "none"},
    ):
        assert raw(served, "POST", "/api/v1/crawls/2/pause", headers)[0] == 409


def test_a_body_that_is_too_large_is_refused_announced_or_not(served: Service) -> None:
    large = b'{"topic": "' + b"x" * 1_000_001 + b'"}'
    # Announced and not sent: the answer comes before the body.
    assert raw(served, "POST", "/api/v1/crawls", {"Content-Length": str(len(large))})[0] == 413
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(large), large)
    chunked = {"Transfer-Encoding": "chunked", "Content-Type": "application/json"}
    assert raw(served, "POST", "/api/v1/crawls", chunked, chunks)[0] == 413


def test_every_answer_tells_browsers_what_they_may_do(served: Service) -> None:
    for path in ("/api/v1/crawls", "/api/v1/crawls/99", "/docs", "/openapi.json"):
        connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        policy = answer.getheader("Content-Security-Policy") or ""
        assert "script-src 'self';" in policy
        assert "unsafe-eval" not in policy
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        connection.close()
