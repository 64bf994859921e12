"""A host that cannot prove who it is, is not asked."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from tres_crawler.config import FetchSettings
from tres_crawler.errors import Unreachable
from tres_crawler.fetch.client import Client


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate; install it")
async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a.test"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.read(1000))
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        async with Client(FetchSettings(connect_to=f"127.0.0.1:{port}")) as client:
            with pytest.raises(Unreachable, match="certificate"):
                await client.get("https://a.test/")
    assert not any(requests), "no request was sent"
