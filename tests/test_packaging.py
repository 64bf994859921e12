"""What a newcomer installs and starts: the wheel, the container files, the make targets."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.commands import environment, running_simweb
from tres_crawler.config import Settings

ROOT = Path(__file__).parent.parent


def done(cwd: Path, *command: str | Path, **settings: str) -> str:
    """Run a command that must succeed; returns what it printed."""
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment(**settings),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=900,
    ).stdout


def lend_dependencies(site: Path) -> None:
    """Link what the installed wheel asks for, and nothing else, from where the tests run: torch is long to copy."""
    (own,) = metadata.distributions(path=[str(site)])
    asked, lent = requirements(own, set()), set[tuple[str, str]]()
    while asked:
        wanted = asked.pop()
        key = (canonicalize_name(wanted.name), ",".join(sorted(wanted.extras)))
        if key not in lent:
            lent.add(key)
            found = metadata.distribution(wanted.name)
            asked += requirements(found, wanted.extras)
            for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                if not (site / name).exists():
                    (site / name).symlink_to(str(found.locate_file(name)))


def requirements(distribution: metadata.Distribution, extras: set[str]) -> list[Requirement]:
    listed = [Requirement(line) for line in distribution.requires or ()]
    return [
        wanted
        for wanted in listed
        if not wanted.marker or any(wanted.marker.evaluate({"extra": extra}) for extra in extras | {""})
    ]


def test_an_installed_wheel_crawls_outside_the_checkout_with_what_it_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)  # it may name the checkout
    done(tmp_path, sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT)
    wheel = next(tmp_path.glob("*.whl"))
    done(tmp_path, sys.executable, "-m", "venv", "--without-pip", "venv")
    installed = tmp_path / "venv/bin"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(installed / "python")]
    done(tmp_path, *pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    lend_dependencies(next(tmp_path.glob("venv/lib/python*/site-packages")))
    done(tmp_path, *pip, "check")
    with running_simweb(tmp_path, "--sites", "50", "--pages", "500") as web:
        crawl: list[str | Path] = [installed / "tres", "crawl", web.topics / "food.toml", "--pages", "50", "--json"]
        told = done(tmp_path, *crawl, "--connect-to", web.address, FETCH__DELAY_SECONDS="0")
    assert json.loads(told)["pages"] == 50
    where = "import tres_crawler.resources as r; print(r.shipped('migrations'), r.shipped('models'))"
    assert done(tmp_path, installed / "python", "-c", where).count("site-packages") == 2


def test_the_container_runs_commands_and_settings_that_exist() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    service = compose["services"]["tres"]
    dockerfile = (ROOT / "Dockerfile").read_text()
    command = json.loads(re.findall(r"^CMD (.*)$", dockerfile, re.MULTILINE)[0])
    for started, name in ((command, "serve"), (compose["services"]["demo"]["command"], "demo")):
        assert started[:2] == ["tres", name]
        told = done(ROOT, sys.executable, "-m", "tres_crawler", name, "--help")
        assert all(option in told for option in started[2::2])
        assert started[started.index("--data-dir") + 1] == "/data"
    set_in_image = dict(re.findall(r"(TRES_\w+)=(\S*)", dockerfile))
    for name in [*service["environment"], *set_in_image]:
        section, _, field = name.removeprefix("TRES_").lower().partition("__")
        assert field in type(getattr(Settings(), section)).model_fields, name
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    mounts = {mount.split(":")[1] for mount in service["volumes"]}
    assert mounts == {"/data", "/scrape", set_in_image["TRES_SERVE__TOPICS_DIR"]}
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE):
        assert all((ROOT / name).exists() for name in source.split()), source
    assert "-c requirements.lock" in dockerfile
    client = ["docker", "compose"]
    if (
        shutil.which("docker")
        and subprocess.run([*client, "version"], capture_output=True, check=False).returncode == 0
    ):
        subprocess.run([*client, "config", "--quiet"], cwd=ROOT, check=True)


def test_every_container_is_reached_from_this_machine_only_and_mounts_what_exists() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    ports = [port for service in compose["services"].values() for port in service["ports"]]
    assert all(port.startswith("127.0.0.1:") for port in ports)
    assert len({port.rpartition(":")[0] for port in ports}) == len(ports)
    for service in compose["services"].values():
        for mount in service["volumes"]:
            source = mount.partition(":")[0]
            assert (ROOT / source).exists() if source.startswith("./") else source in compose["volumes"], mount
    profiles = {name: service.get("profiles") for name, service in compose["services"].items()}
    assert profiles == {"tres": None, "demo": ["demo"], "prometheus": ["monitoring"], "grafana": ["monitoring"]}


def test_prometheus_calls_the_service_by_a_name_it_answers_to_with_the_token_it_is_left() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    (job,) = yaml.safe_load((ROOT / "docker/prometheus.yml").read_text())["scrape_configs"]
    name, _, port = job["static_configs"][0]["targets"][0].partition(":")
    assert (name in compose["services"], port) == (True, "8000")
    given = compose["services"]["tres"]["environment"]["TRES_SERVE__HOSTS"]
    assert name in json.loads(given.partition(":-")[2].removesuffix("}"))
    assert job["authorization"]["credentials_file"] == "/scrape/token"
    assert "scrape:/scrape:ro" in compose["services"]["prometheus"]["volumes"]


def test_the_entry_point_makes_a_token_once_and_prints_it_once(tmp_path: Path) -> None:
    def start(**given: str) -> str:
        script = [str(ROOT / "docker/entrypoint.sh"), "sh", "-c", 'echo "token=$TRES_SERVE__TOKEN"']
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        env = (
            environment()
            | {"TOKEN_FILE": str(tmp_path / "token"), "SCRAPE_DIR": str(tmp_path / "scrape"), "PATH": path}
            | given
        )
        return subprocess.run(script, env=env, capture_output=True, text=True, check=True).stdout

    (tmp_path / "scrape").mkdir()
    first, second = start(), start()
    token = (tmp_path / "token").read_text().strip()
    assert len(token) > 30
    assert "shown once" in first and first.endswith(f"token={token}\n")
    assert second == f"token={token}\n"
    assert start(TRES_SERVE__TOKEN="mine") == "token=mine\n"
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0
    assert (tmp_path / "scrape/token").read_text() == "mine", "Prometheus reads the one that counts"


def test_make_says_what_is_missing_when_python_is_too_old(tmp_path: Path) -> None:
    old = tmp_path / "python-old"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && { echo "Python 3.8.1"; exit 0; }\nexit 1\n')
    old.chmod(0o755)
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for target, python, told in [
        ("demo", old, "Python 3.11 or newer is needed"),
        ("test", tmp_path / "none", "Missing: "),
    ]:
        made = subprocess.run(
            ["make", target, f"PYTHON={python}"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert made.returncode != 0
        assert told in made.stdout
        assert not (tmp_path / ".venv").exists()


def test_every_install_path_uses_the_lock_file_and_it_pins_torch() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert re.search(r"^torch==2\.13\.0$", lock, re.MULTILINE)
    assert all("==" in line or line.startswith("#") for line in lock.splitlines() if line)
    for name in ("Makefile", "Dockerfile"):
        for line in (ROOT / name).read_text().splitlines():
            if "pip install" in line:
                assert "-c requirements.lock" in line, f"{name}: {line}"
