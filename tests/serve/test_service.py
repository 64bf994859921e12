"""The service as a process of its own, over real HTTP."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from tests.commands import running_simweb, tres
from tests.serve.service import running_service, topic


def test_a_crawl_is_started_watched_paused_and_stopped_over_rest(tmp_path: Path) -> None:
    with (
        running_simweb(tmp_path, "--sites", "200", "--pages", "4000") as web,
        running_service(tmp_path, web) as service,
    ):
        status, begun = service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": {"max_pages": 4000}})
        assert (status, begun["state"], begun["topic"]) == (201, "running", "sports")
        service.wait_for(1, lambda now: now["pages"] > 20)
        assert service.call("POST", "/api/v1/crawls/1/pause")[1]["state"] == "paused"
        assert service.call("POST", "/api/v1/crawls/1/pause")[0] == 409
        assert service.call("POST", "/api/v1/crawls/1/resume")[1]["state"] == "running"
        status, ended = service.call("POST", "/api/v1/crawls/1/stop")
        assert (status, ended["state"], ended["stop_reason"]) == (200, "stopped", "stopped")
        assert service.call("POST", "/api/v1/crawls/1/stop")[0] == 409
        assert [one["crawl_id"] for one in service.call("GET", "/api/v1/crawls")[1]["items"]] == [1]
        assert service.call("GET", "/api/v1/crawls/7")[0] == 404


def test_a_crawl_resumed_twice_at_once_runs_once(tmp_path: Path) -> None:
    with (
        running_simweb(tmp_path, "--sites", "200", "--pages", "4000") as web,
        running_service(tmp_path, web) as service,
    ):
        for _ in range(2):
            service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": {"max_pages": 400}})
        service.call("POST", "/api/v1/crawls/1/stop")
        with ThreadPoolExecutor(8) as callers:
            answers = list(callers.map(lambda _: service.call("POST", "/api/v1/crawls/1/resume")[0], range(8)))
        assert sorted(answers) == [200] + [409] * 7
        for crawl in (1, 2):
            assert service.wait_for(crawl, lambda now: now["state"] == "finished")["pages"] == 400


def test_odd_numbers_are_refused(tmp_path: Path) -> None:
    with (
        running_simweb(tmp_path, "--sites", "150", "--pages", "1500") as web,
        running_service(tmp_path, web) as service,
    ):
        assert service.call("GET", f"/api/v1/crawls/{10**20}")[0] == 422
        seeded = {"topic": topic(web), "crawl": {"seed": 10**20}}
        assert service.call("POST", "/api/v1/crawls", seeded)[0] == 422


def test_bad_bodies_are_explained(tmp_path: Path) -> None:
    with (
        running_simweb(tmp_path, "--sites", "150", "--pages", "1500") as web,
        running_service(tmp_path, web) as service,
    ):
        for body, told in [
            ({"topic": {"name": "x", "keywords": ["y"]}}, "no seeds"),
            ({"topic": {"name": "x", "keyword": ["y"]}}, 'Did you mean "keywords"'),
            ({"topic": topic(web), "crawl": {"max_page": 3}}, 'Did you mean "max_pages"'),
            ({"topic": "nothing"}, "no topic named"),
            ({"tpic": {}}, "body.tpic"),
        ]:
            status, problem = service.call("POST", "/api/v1/crawls", body)
            assert status == 422
            assert told in problem["detail"]
        assert service.call("GET", "/api/v1/crawls")[1] == {"items": [], "next": None}


def test_topic_files_start_by_themselves_and_a_killed_service_goes_on(tmp_path: Path) -> None:
    with running_simweb(tmp_path, "--sites", "300", "--pages", "6000") as web:
        mounted = tmp_path / "mounted"
        mounted.mkdir()
        (mounted / "food.toml").write_bytes((web.topics / "food.toml").read_bytes())
        (mounted / "broken.toml").write_text("name = ")
        settings = {"SERVE__TOPICS_DIR": str(mounted), "CRAWL__MAX_PAGES": "500"}
        with running_service(tmp_path, web, **settings) as service:
            service.wait_for(1, lambda now: now["topic"] == "food" and now["pages"] > 30)
            service.process.send_signal(signal.SIGKILL)
        with running_service(tmp_path, web, **settings) as service:
            ended = service.wait_for(1, lambda now: now["state"] == "finished")
            assert (ended["pages"], ended["stop_reason"]) == (500, "budget")
            assert len(service.call("GET", "/api/v1/crawls")[1]["items"]) == 1


def test_a_token_is_asked_for_where_one_is_set_and_demanded_off_the_loopback(tmp_path: Path) -> None:
    refused = tres("serve", "--host", "0.0.0.0", cwd=tmp_path)
    assert refused.returncode == 2
    assert "TRES_SERVE__TOKEN" in refused.stderr
    with (
        running_simweb(tmp_path, "--sites", "150", "--pages", "1500") as web,
        running_service(tmp_path, web, SERVE__TOKEN="secret") as service,
    ):
        assert service.call("GET", "/api/v1/crawls")[0] == 200
        service.token = "guess"
        assert service.call("GET", "/api/v1/crawls")[0] == 401
        service.token = ""
        assert service.call("GET", "/api/v1/crawls")[0] == 401
        assert service.call("GET", "/healthz")[0] == 200


def test_tres_stop_asks_the_service_that_runs_the_crawl(tmp_path: Path) -> None:
    with (
        running_simweb(tmp_path, "--sites", "200", "--pages", "4000") as web,
        running_service(tmp_path, web) as service,
    ):
        service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": {"max_pages": 4000}})
        service.wait_for(1, lambda now: now["pages"] > 5)
        told = tres("stop", "1", "--data-dir", tmp_path / "data", cwd=tmp_path)
        assert (told.returncode, told.stderr) == (0, "")
        assert service.call("GET", "/api/v1/crawls/1")[1]["state"] == "stopped"
        os.kill(service.process.pid, 0)


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
