"""`tres serve`: the web service."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tres_crawler.cli.common import DEFAULT_DATA_DIR, ConfigOption, DataDirOption, load_settings
from tres_crawler.config import Settings
from tres_crawler.errors import ConfigError
from tres_crawler.store.datadir import DataDir


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.  \\[default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.  \\[default: 8000]")] = None,
    data_dir: DataDirOption = DEFAULT_DATA_DIR,
    config: ConfigOption = None,
) -> None:
    """Start the service: crawls are started, watched and stopped over REST (docs at /docs).

    Crawls that were running when it was last stopped go on by themselves.
    """
    settings = load_settings(config).replaced("serve", {"host": host, "port": port})
    run_service(settings, Path(data_dir), lambda address: print(f"Service on {address}", flush=True))


def run_service(settings: Settings, data_dir: Path, tell: Callable[[str], None]) -> None:
    """Serve until a signal ends it; `tell` is given the address once it is listened on."""
    # Imported here: the other commands start in half the time without them.
    from tres_crawler.serve.app import create_app
    from tres_crawler.serve.server import Server

    if not is_loopback(settings.serve.host) and not settings.serve.token:
        raise ConfigError(
            f"Listening on {settings.serve.host} lets others in, so a token is needed. Set TRES_SERVE__TOKEN, "
            "or listen on 127.0.0.1."
        )
    if settings.serve.webhooks and not settings.serve.webhook_secret:
        raise ConfigError("Webhooks are signed, so they need a secret. Set TRES_SERVE__WEBHOOK_SECRET.")
    listener = _listen(settings.serve.host, settings.serve.port)
    address = f"http://{_bracketed(settings.serve.host)}:{listener.getsockname()[1]}"
    with DataDir(data_dir, settings.store.url) as folder:
        folder.tell(doing="serve", url=address)
        tell(address)
        server = Server(create_app(settings, folder))
        server.run(sockets=[listener])
    if not server.started:
        raise typer.Exit(1)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    """As it stands before a port."""
    return f"[{host}]" if ":" in host else host


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ConfigError(
            f"Cannot listen on {_bracketed(host)}:{port}: {error.strerror}. Give another --port or --host, or stop "
            "what uses it."
        ) from error
