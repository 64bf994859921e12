"""The Grafana dashboard asks for figures that the service gives."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

import yaml

from tests.serve.service import Service

GRAFANA = Path(__file__).parents[2] / "docker" / "grafana"


def test_every_figure_of_the_grafana_dashboard_is_one_of_the_service(served: Service) -> None:
    with urllib.request.urlopen(f"{served.address}/metrics", timeout=30) as answer:
        given = set(re.findall(r"^(\w+)", answer.read().decode(), re.MULTILINE))
    board = json.loads((GRAFANA / "dashboards/tres.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(asked) > 10
    for expression in asked:
        names = set(re.findall(r"\b(?:tres|process)_\w+", expression))
        assert names, expression
        assert names <= given, expression


def test_the_grafana_dashboard_and_its_source_are_provisioned() -> None:
    board = json.loads((GRAFANA / "dashboards/tres.json").read_text())
    (source,) = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yml").read_text())["datasources"]
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {source["uid"]}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    compose = yaml.safe_load((GRAFANA.parents[1] / "docker-compose.yml").read_text())
    (provider,) = yaml.safe_load((GRAFANA / "provisioning/dashboards/tres.yml").read_text())["providers"]
    mounts = [mount.split(":")[1] for mount in compose["services"]["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounts
