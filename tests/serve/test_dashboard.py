"""The dashboard's files, as they are served."""

from __future__ import annotations

import gzip
import http.client
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.commands import running_simweb
from tests.serve.service import Service, running_service
from tres_crawler.serve.dashboard import STATIC


def ask(service: Service, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """One GET, without anything a client would tidy up in the path."""
    connection = http.client.HTTPConnection(urlsplit(service.address).netloc, timeout=30)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def test_the_page_has_nothing_inline_and_a_policy_that_forbids_it(served: Service) -> None:
    status, headers, body = ask(served, "/")
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert (status, policy["script-src"], policy["default-src"]) == (200, "'self'", "'none'")
    assert "unsafe" not in headers["content-security-policy"]
    page = body.decode()
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", page)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page), "nothing from elsewhere"


def test_the_page_answers_to_head_too(served: Service) -> None:
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=30)
    connection.request("HEAD", "/")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    connection.close()


def test_the_manual_shows_what_stands_in_backticks_as_code(served: Service) -> None:
    body = ask(served, "/docs")[2].decode()
    assert "<code>next</code> of the answer before" in body
    assert "`" not in body


def test_every_file_the_page_and_its_modules_name_is_served(served: Service) -> None:
    page = (STATIC / "index.html").read_text()
    named = set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page))
    for module in (STATIC / "js").glob("*.js"):
        named |= {f"/static/js/{name}" for name in re.findall(r'from "\./([\w.]+)"', module.read_text())}
    assert len(named) > 15
    for path in named:
        status, headers, _ = ask(served, path)
        assert (status, headers["cache-control"]) == (200, "no-cache"), path
    unused = {f"/static/js/{module.name}" for module in (STATIC / "js").glob("*.js")} - named
    assert not unused


def test_the_charts_library_comes_compressed_and_only_once(served: Service) -> None:
    status, headers, body = ask(served, "/static/plotly.min.js", Accept_Encoding="gzip")
    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert len(body) < 2_000_000
    plain = ask(served, "/static/plotly.min.js")[2]
    assert gzip.decompress(body) == plain
    assert ask(served, "/static/plotly.min.js", If_None_Match=headers["etag"])[0] == 304


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/js/..%2f..%2f..%2fapp.py", "/static//etc/passwd"]
)
def test_no_other_file_can_be_had(served: Service, path: str) -> None:
    assert ask(served, path)[0] == 404


def test_topics_are_listed_with_what_is_wrong_with_them(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/broken.toml").write_text('name = "broken"\n')
    (tmp_path / "own/food.toml").write_text('name = "food"\nkeywords = ["soup"]\nseeds = ["http://soup.example/"]\n')
    with (
        running_simweb(tmp_path, "--sites", "50", "--pages", "500") as web,
        running_service(tmp_path, web, SERVE__TOPICS_DIR=str(tmp_path / "own"), LOG__LEVEL="error") as service,
    ):
        listed = {topic["name"]: topic for topic in service.call("GET", "/api/v1/topics")[1]}
    assert listed["food"]["keywords"] == ["soup"], "a file of the folder stands for the shipped one of its name"
    assert "keywords" in listed["broken"]["error"]
    assert listed["sports"]["error"] is None
    assert listed["sports"]["seeds"]
