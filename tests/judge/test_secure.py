"""A judge behind HTTPS: its certificate must be one that this machine trusts."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.evaluation.preparation.http_app import App
from tests.judge.models import dataset, model_server
from tests.judge.test_server import QUICK

from rag_titan.errors import ServiceError
from rag_titan.judge import Judge

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Signed by itself, for this machine; the key is beside it."""
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(tmp_path / "key.pem")]
    subprocess.run([*command, *names, "-out", str(tmp_path / "own.pem")], check=True, capture_output=True)
    return tmp_path / "own.pem"


@pytest.fixture
def app(certificate: Path) -> Iterator[App]:
    with model_server() as app:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_name("key.pem"))
        plain = app.server.get_request

        def secured() -> tuple[ssl.SSLSocket, object]:
            raw, peer = plain()
            return context.wrap_socket(raw, server_side=True), peer

        app.server.get_request = secured  # type: ignore[method-assign]  # every connection gets TLS
        yield app


def asking(app: App) -> Judge:
    return Judge("tiny", f"https://127.0.0.1:{app.server.server_port}/v1", retries=QUICK, concurrency=1)


def test_a_certificate_that_nobody_signed_is_refused_with_what_to_do(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with asking(app) as judge, pytest.raises(ServiceError) as caught:
        judge.judge(dataset(50))
    assert "must be reachable, got a certificate that this machine does not trust (self-signed" in str(caught.value)
    assert "Set SSL_CERT_FILE to the certificate" in str(caught.value)
    assert app.requests == []


def test_one_that_is_trusted_is_accepted_and_the_connection_kept(
    app: App, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with asking(app) as judge:
        judged = judge.judge(dataset(5))
    assert (judged.done, judged.failures, len(app.requests)) == (5, [], 10)
