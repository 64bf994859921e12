"""Exports over real HTTP."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

from tests.commands import running_simweb, tres
from tests.serve.service import running_service, topic
from tres_crawler.exports.formats import FILE_NAME, MEDIA_TYPE, Format


def test_an_export_over_rest_is_the_one_of_the_command_line(tmp_path: Path) -> None:
    with (
        running_simweb(tmp_path, "--sites", "150", "--pages", "1500") as web,
        running_service(tmp_path, web, STORE__CONTENT="text") as service,
    ):
        service.call("POST", "/api/v1/crawls", {"topic": topic(web), "crawl": {"max_pages": 120}})
        service.wait_for(1, lambda now: now["state"] == "finished")
        route = f"{service.address}/api/v1/crawls/1/export?format="
        for kind, name in FILE_NAME.items():
            if kind is Format.WARC:
                continue
            with urllib.request.urlopen(route + kind, timeout=30) as answer:
                sent = answer.read()
                assert answer.headers["Content-Disposition"] == f'attachment; filename="crawl-1-{name}"'
                assert answer.headers["Content-Type"] == MEDIA_TYPE[kind]
            told = tres("export", "1", "--format", kind, "-o", name, cwd=tmp_path)
            assert (told.returncode, told.stderr) == (0, "")
            assert sent == (tmp_path / name).read_bytes()
        with urllib.request.urlopen(route + "jsonl&after=100&limit=10", timeout=30) as answer:
            assert [json.loads(line)["number"] for line in answer] == list(range(101, 111))
        status, problem = service.call("GET", "/api/v1/crawls/1/export?format=warc")
        assert (status, "has kept no exchanges" in problem["detail"]) == (422, True)
        assert service.call("GET", "/api/v1/crawls/1/export?format=doc")[0] == 422
        assert service.call("GET", "/api/v1/crawls/1/export?format=csv&after=-1")[0] == 422
        assert service.call("GET", "/api/v1/crawls/9/export?format=csv")[0] == 404
