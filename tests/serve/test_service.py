"""The service as a process of its own, over real HTTP."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.commands import RunningWeb, running_simweb, tres
from tests.serve.service import running_service, topic
from tres_crawler.simweb.model import Web
from tres_crawler.simweb.truth import PATIENCE_SECONDS, judge_hosts, read_log


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningWeb]:
    with running_simweb(tmp_path_factory.mktemp("web"), "--sites", "150", "--pages", "3000") as running:
        yield running


def test_a_crawl_is_started_watched_paused_and_stopped_over_rest(tmp_path: Path, web: RunningWeb) -> None:
    with running_service(tmp_path, web) as service:
        wanted = {"topic": topic(web), "crawl": {"max_pages": 4000}, "recrawl": {"mode": "share"}}
        status, begun = service.call("POST", "/api/v1/crawls", wanted)
        assert (status, begun["state"], begun["topic"]) == (201, "running", "sports")
        assert service.get("/1/recrawl")["mode"] == "share"
        service.wait_for(1, lambda now: now["pages"] > 20)
        assert service.call("POST", "/api/v1/crawls/1/pause")[1]["state"] == "paused"
        assert service.call("POST", "/api/v1/crawls/1/pause")[0] == 409
        assert service.call("POST", "/api/v1/crawls/1/resume")[1]["state"] == "running"
        status, ended = service.call("POST", "/api/v1/crawls/1/stop")
        assert (status, ended["state"], ended["stop_reason"]) == (200, "stopped", "stopped")
        assert service.call("POST", "/api/v1/crawls/1/stop")[0] == 409
        assert [one["crawl_id"] for one in service.call("GET", "/api/v1/crawls")[1]["items"]] == [1]
        assert service.call("GET", "/api/v1/crawls/7")[0] == 404


def test_a_crawl_resumed_twice_at_once_runs_once(tmp_path: Path, web: RunningWeb) -> None:
    with running_service(tmp_path, web) as service:
        for _ in range(2):
            wanted = {"max_pages": 150, "policy": "best-first"}
            service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": wanted})
        service.call("POST", "/api/v1/crawls/1/stop")
        with ThreadPoolExecutor(8) as callers:
            answers = list(callers.map(lambda _: service.call("POST", "/api/v1/crawls/1/resume")[0], range(8)))
        assert sorted(answers) == [200] + [409] * 7
        for crawl in (1, 2):
            assert service.wait_for(crawl, lambda now: now["state"] == "finished")["pages"] == 150


def test_crawls_of_another_version_are_listed_whatever_settings_they_were_kept_with(
    tmp_path: Path, web: RunningWeb
) -> None:
    wanted = {"topic": topic(web), "crawl": {"max_pages": 5, "policy": "breadth-first"}}
    with running_service(tmp_path, web) as service:
        for crawl in (1, 2):
            service.call("POST", "/api/v1/crawls", wanted)
            service.wait_for(crawl, lambda now: now["state"] == "finished")
    with closing(sqlite3.connect(tmp_path / "data" / "tres.db")) as other, other:
        change = "UPDATE crawls SET settings = json_set(settings, ?, ?) WHERE id = ?"
        other.execute(change, ("$.crawl.former", 1, 1))
        other.execute(change, ("$.crawl.policy", "former", 2))
    with running_service(tmp_path, web) as service:
        listed = service.call("GET", "/api/v1/crawls")[1]["items"]
        assert sorted((one["crawl_id"], one["pages"], one["max_pages"]) for one in listed) == [(1, 5, 5), (2, 5, 5)]
        assert service.get("/1/recrawl")["mode"] == "off"
        status, told = service.call("POST", "/api/v1/crawls/2/resume")
        assert (status, "crawl.policy" in told["detail"]) == (422, True)


def test_topic_files_start_by_themselves_and_a_killed_service_goes_on(tmp_path: Path, web: RunningWeb) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    (mounted / "food.toml").write_bytes((web.topics / "food.toml").read_bytes())
    (mounted / "broken.toml").write_text("name = ")
    settings = {"SERVE__TOPICS_DIR": str(mounted), "CRAWL__MAX_PAGES": "200"}
    with running_service(tmp_path, web, **settings) as service:
        service.wait_for(1, lambda now: now["topic"] == "food" and now["pages"] > 60)
        before = service.get("/1/metrics")["points"][:-1]
        service.process.send_signal(signal.SIGKILL)
    with running_service(tmp_path, web, **settings) as service:
        ended = service.wait_for(1, lambda now: now["state"] == "finished")
        assert (ended["pages"], ended["stop_reason"]) == (200, "budget")
        points = service.get("/1/metrics")["points"]
        assert points[: len(before)] == before
        assert [point["pages"] for point in points] == list(range(10, 201, 10)), "its course has no gap"
        assert all(point["waiting"] is not None for point in points)
        assert len(service.call("GET", "/api/v1/crawls")[1]["items"]) == 1


def test_a_token_is_asked_for_where_one_is_set_and_demanded_off_the_loopback(tmp_path: Path, web: RunningWeb) -> None:
    refused = tres("serve", "--host", "0.0.0.0", cwd=tmp_path)
    assert refused.returncode == 2
    assert "TRES_SERVE__TOKEN" in refused.stderr
    with running_service(tmp_path, web, SERVE__TOKEN="secret") as service:
        assert service.call("GET", "/api/v1/crawls")[0] == 200
        service.token = "guess"
        assert service.call("GET", "/api/v1/crawls")[0] == 401
        service.token = ""
        assert service.call("GET", "/api/v1/crawls")[0] == 401
        assert service.call("GET", "/healthz")[0] == 200


def test_tres_stop_asks_the_service_that_runs_the_crawl(
    tmp_path: Path, web: RunningWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_service(tmp_path, web) as service:
        crawl = {"max_pages": 4000, "policy": "best-first"}
        service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": crawl})
        service.wait_for(1, lambda now: now["pages"] > 5)
        # A proxy is for the web, not for a service on this machine.
        with monkeypatch.context() as meanwhile:
            meanwhile.setenv("http_proxy", "http://127.0.0.1:9")
            told = tres("stop", "1", "--data-dir", tmp_path / "data", cwd=tmp_path)
        assert (told.returncode, told.stderr) == (0, "")
        assert f"POST {service.address}/api/v1/crawls/1/resume" in told.stdout
        assert service.call("GET", "/api/v1/crawls/1")[1]["state"] == "stopped"
        os.kill(service.process.pid, 0)


def test_tres_stop_finds_the_token_that_a_container_has_left_in_its_data(tmp_path: Path, web: RunningWeb) -> None:
    with running_service(tmp_path, web, SERVE__TOKEN="made-by-the-entry-point") as service:
        crawl = {"max_pages": 4000, "policy": "best-first"}
        service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": crawl})
        refused = tres("stop", "1", "--data-dir", tmp_path / "data", cwd=tmp_path)
        assert (refused.returncode, "401" in refused.stderr) == (1, True)
        (tmp_path / "data/token").write_text("made-by-the-entry-point\n")
        assert tres("stop", "1", "--data-dir", tmp_path / "data", cwd=tmp_path).returncode == 0
        assert service.get("/1")["state"] == "stopped"


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine knows no IPv6")
def test_a_service_on_an_ipv6_address_tells_one_that_can_be_called(tmp_path: Path, web: RunningWeb) -> None:
    with running_service(tmp_path, web, SERVE__HOST="::1") as service:
        assert service.address.startswith("http://[::1]:")
        assert service.call("GET", "/healthz")[0] == 200
        service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": {"policy": "best-first"}})
        assert tres("stop", "1", "--data-dir", tmp_path / "data", cwd=tmp_path).returncode == 0


def test_feedback_is_kept_and_retrains_the_judge_of_a_running_crawl(tmp_path: Path) -> None:
    with (
        running_simweb(tmp_path, "--sites", "200", "--pages", "6000") as web,
        running_service(tmp_path, web, RELEVANCE__MODEL="bilstm") as service,
    ):
        topic = tomllib.loads((web.topics / "food.toml").read_text())
        body = {"topic": topic, "crawl": {"max_pages": 5000, "policy": "best-first"}}
        number = service.call("POST", "/api/v1/crawls", body)[1]["crawl_id"]
        service.wait_for(number, lambda status: status["relevant_pages"] > 12)
        assert service.call("POST", f"/api/v1/crawls/{number}/feedback", {"page": 99_999, "relevant": True})[0] == 404
        assert service.call("POST", f"/api/v1/crawls/{number}/feedback", {"page": 1, "relevant": "often"})[0] == 422
        status, kept = service.call("POST", f"/api/v1/crawls/{number}/feedback", {"page": 1, "relevant": False})
        assert (status, kept) == (202, {"labels": 1, "retraining": True})
        with closing(sqlite3.connect(tmp_path / "data" / "tres.db")) as database:
            query = "SELECT relevant FROM pages WHERE number = 1 AND judge_version > 1"
            deadline = time.monotonic() + 120
            while (row := database.execute(query).fetchone()) != (0,) and time.monotonic() < deadline:
                time.sleep(0.2)
        assert row == (0,), "a person's word stands"
        service.call("POST", f"/api/v1/crawls/{number}/stop")


def test_the_judge_of_an_ended_crawl_learns_from_feedback_when_asked_to(tmp_path: Path, web: RunningWeb) -> None:
    quick = {"RELEVANCE__MODEL": "svm", "RELEVANCE__BOOTSTRAP_PAGES": "0"}
    with running_service(tmp_path, web, **quick) as service:
        body = {
            "topic": tomllib.loads((web.topics / "food.toml").read_text()),
            "crawl": {"max_pages": 80, "policy": "best-first"},
        }
        service.call("POST", "/api/v1/crawls", body)
        ended = service.wait_for(1, lambda status: status["state"] == "finished")
        page = service.get("/1/pages?relevant=true&limit=1")["items"][0]["id"]
        _, kept = service.call("POST", "/api/v1/crawls/1/feedback", {"page": page, "relevant": False})
        assert kept == {"labels": 1, "retraining": False}
        with ThreadPoolExecutor(2) as callers:
            answers = dict(callers.map(lambda _: service.call("POST", "/api/v1/crawls/1/rejudge"), range(2)))
        assert answers.keys() == {200, 409}
        told = answers[200]
        assert (told["version"], told["is_new"]) == (2, True)
        assert told["before"]["relevant_pages"] == ended["relevant_pages"] - 1
        assert service.get("/1")["relevant_pages"] == told["after"]["relevant_pages"]
        judged = service.get(f"/1/pages/{page}")
        assert (judged["judge_version"], judged["relevant"], judged["label"]) == (2, False, False)


def test_two_crawls_of_the_same_hosts_are_as_polite_as_one(tmp_path: Path) -> None:
    delay = 0.3
    with (
        running_simweb(tmp_path, "--sites", "30", "--pages", "600") as web,
        running_service(tmp_path, web, FETCH__DELAY_SECONDS=str(delay), CHOOSE__PAGES_PER_SLOT="0") as service,
    ):
        body = {"topic": topic(web), "crawl": {"max_pages": 40, "policy": "breadth-first"}}
        for _ in range(2):
            service.call("POST", "/api/v1/crawls", body)
        for crawl in (1, 2):
            service.wait_for(crawl, lambda now: now["state"] == "finished")
        served, requests = read_log(web.log)
        hosts = judge_hosts(Web(served), requests)
        asked = [urls(tmp_path / "data", crawl) for crawl in (1, 2)]
    assert len(asked[0] & asked[1]) > 10, "they do ask the same hosts"
    assert max(host.largest_concurrency for host in hosts.values()) == 1
    gaps = [host.smallest_gap_seconds for host in hosts.values() if host.smallest_gap_seconds is not None]
    assert min(gaps) >= delay - PATIENCE_SECONDS


def urls(data: Path, crawl: int) -> set[str]:
    with closing(sqlite3.connect(data / "tres.db")) as database:
        return {url for (url,) in database.execute("SELECT url FROM pages WHERE crawl = ?", [crawl])}


def test_a_start_that_is_repeated_with_its_key_starts_once(tmp_path: Path, web: RunningWeb) -> None:
    with running_service(tmp_path, web, CRAWL__POLICY="breadth-first", SERVE__SLOTS="2") as service:
        body = {"topic": topic(web), "crawl": {"max_pages": 1400}}
        with ThreadPoolExecutor(6) as callers:
            answers = list(
                callers.map(lambda _: service.call("POST", "/api/v1/crawls", body, Idempotency_Key="k1"), range(6))
            )
        assert {(status, crawl["crawl_id"]) for status, crawl in answers} == {(201, 1)}
        other = {**body, "crawl": {"max_pages": 9}}
        assert service.call("POST", "/api/v1/crawls", other, Idempotency_Key="k1")[0] == 409
        assert service.call("POST", "/api/v1/crawls", other, Idempotency_Key="k2")[1]["crawl_id"] == 2
        service.wait_for(2, lambda now: now["state"] == "finished")
        service.call("POST", "/api/v1/crawls", body)
        status, problem = service.call("POST", "/api/v1/crawls", body)
        assert (status, problem["type"]) == (409, "/problems/wrong-state")
        assert "serve.slots" in problem["detail"]
        service.call("POST", "/api/v1/crawls/3/stop")
        assert service.call("DELETE", "/api/v1/crawls/3") == (204, None)
        assert service.call("GET", "/api/v1/crawls/3")[0] == 404
        assert [one["crawl_id"] for one in service.get("")["items"]] == [1, 2]


def test_a_paused_crawl_stays_paused_over_a_restart_and_a_finished_one_goes_on_with_more_to_do(
    tmp_path: Path, web: RunningWeb
) -> None:
    with running_service(tmp_path, web, CRAWL__POLICY="breadth-first") as service:
        for pages in (1400, 20):
            service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": {"max_pages": pages}})
        service.wait_for(1, lambda now: now["pages"] > 10)
        service.call("POST", "/api/v1/crawls/1/pause")
        service.wait_for(2, lambda now: now["state"] == "finished")
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(30)
    with running_service(tmp_path, web, CRAWL__POLICY="breadth-first") as service:
        paused = service.get("/1")
        assert paused["state"] == "paused"
        assert service.call("POST", "/api/v1/crawls/2/resume")[0] == 409
        assert service.call("PATCH", "/api/v1/crawls/2", {"max_pages": 30})[1]["max_pages"] == 30
        assert service.call("POST", "/api/v1/crawls/2/resume")[1]["state"] == "running"
        assert service.wait_for(2, lambda now: now["state"] == "finished")["pages"] == 30
        assert service.get("/1")["pages"] == paused["pages"]
        assert service.call("POST", "/api/v1/crawls/1/resume")[1]["state"] == "running"
        service.wait_for(1, lambda now: now["pages"] > paused["pages"])


def test_an_ended_crawl_can_be_let_watch_what_it_found(tmp_path: Path, web: RunningWeb) -> None:
    paces = {"visits_per_minute": 1200, "least_gap_seconds": 1.0, "first_gap_seconds": 2.0}
    with running_service(tmp_path, web, CRAWL__POLICY="breadth-first") as service:
        asked = {"topic": topic(web), "crawl": {"max_pages": 40}, "recrawl": paces}
        service.call("POST", "/api/v1/crawls", asked)
        while_it_runs = service.call("PATCH", "/api/v1/crawls/1", {"recrawl": "monitor"})
        assert while_it_runs[0] == 409
        assert "stop it before" in while_it_runs[1]["detail"]
        service.wait_for(1, lambda now: now["state"] == "finished")
        assert '"recrawl": "monitor"' in service.call("POST", "/api/v1/crawls/1/resume")[1]["detail"]
        assert service.call("PATCH", "/api/v1/crawls/1", {"recrawl": "monitor", "max_pages": 5})[0] == 409
        assert service.get("/1/recrawl")["mode"] == "off", "of what is refused nothing is kept"
        assert service.call("PATCH", "/api/v1/crawls/1", {"recrawl": "monitor"})[0] == 200
        assert service.call("POST", "/api/v1/crawls/1/resume")[1]["state"] == "running"
        service.wait_for(1, lambda _: service.get("/1/recrawl")["visits"] > 3)
        assert service.get("/1")["pages"] == 40
        assert service.get("/1/recrawl")["troubles"] == 0, "a first version is no trouble"
        assert service.call("POST", "/api/v1/crawls/1/stop")[1]["state"] == "stopped"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_service_that_was_told_to_leave_has_done_its_job(tmp_path: Path, web: RunningWeb, number: int) -> None:
    with running_service(tmp_path, web, CRAWL__POLICY="breadth-first") as service:
        service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": {"max_pages": 1400}})
        service.process.send_signal(number)
        assert service.process.wait(30) == 0


def test_a_service_with_listeners_leaves_at_once_and_its_crawl_goes_on_later(tmp_path: Path, web: RunningWeb) -> None:
    with running_service(tmp_path, web, CRAWL__POLICY="breadth-first") as service:
        service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": {"max_pages": 1400}})
        with urllib.request.urlopen(f"{service.address}/api/v1/crawls/1/events", timeout=30) as stream:
            stream.readline()
            service.process.send_signal(signal.SIGTERM)
            stream.read()
        service.process.wait(30)
    with running_service(tmp_path, web) as service:
        assert service.get("/1")["state"] == "running"
