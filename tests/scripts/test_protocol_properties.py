"""client.properties of Kafka's tools: what is taken from it, and what is refused."""

import importlib
import json
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module("_protocol_properties")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate and its key, in one PEM file."""
    key, chain = tmp_path / "key.pem", tmp_path / "chain.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=test", "-keyout", key, "-out", chain],
        check=True, capture_output=True,
    )  # fmt: skip
    both = tmp_path / "both.pem"
    both.write_text(chain.read_text() + key.read_text())
    return both


def test_nothing_means_plaintext(module: ModuleType) -> None:
    assert module.connection_options({}) == {"security_protocol": "PLAINTEXT"}


def test_a_file_as_kafkas_tools_take_it(module: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "# of the operators\nsecurity.protocol = SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n"
        f'sasl.jaas.config={SCRAM} required \\\n   username="ann" password="a=\\\\"b;c";\n'
        "client.id=audit\nrequest.timeout.ms=5000\nenable.idempotence=true\n"
    )
    assert module.connection_options(module.read_properties(file)) == {
        "security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "ann", "sasl_plain_password": 'a="b;c',
        "client_id": "audit", "request_timeout_ms": 5000,
    }  # fmt: skip


def test_certificates_in_pem(module: ModuleType, certificate: Path) -> None:
    options = module.connection_options(
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": str(certificate),
            "ssl.keystore.location": str(certificate),
            "ssl.endpoint.identification.algorithm": "",
        }
    )
    context = options["ssl_context"]
    assert not context.check_hostname
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert [one["subject"][-1] for one in context.get_ca_certs()] == [(("commonName", "test"),)]


def test_a_given_truststore_is_the_only_one(module: ModuleType, certificate: Path) -> None:
    inline = {"security.protocol": "SSL", "ssl.truststore.certificates": certificate.read_text()}
    assert len(module.connection_options(inline)["ssl_context"].get_ca_certs()) == 1


def test_what_cannot_be_used_is_said(module: ModuleType, tmp_path: Path) -> None:
    jks = tmp_path / "trust.jks"
    jks.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    sasl = {"security.protocol": "SASL_SSL"}
    cases: list[tuple[dict[str, str], str]] = [
        ({"security.protocol": "TLS"}, "security.protocol=TLS is none of"),
        (sasl, "sasl.mechanism=GSSAPI is none of"),
        (sasl | {"sasl.mechanism": "PLAIN"}, "names no username and no password"),
        (sasl | {"sasl.mechanism": "OAUTHBEARER"}, "needs sasl.oauthbearer.token.endpoint.url"),
        ({"security.protocol": "SSL", "ssl.truststore.location": str(jks)}, "keytool"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/absent"}, "cannot be used"),
        ({"request.timeout.ms": "soon"}, "is not a number of ms"),
    ]
    for properties, expected in cases:
        with pytest.raises(module.CopyError, match=expected):
            module.connection_options(properties)
    with pytest.raises(module.CopyError, match="absent cannot be read"):
        module.read_properties(tmp_path / "absent")


def test_a_token_comes_from_a_file(module: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc\n")
    options = module.connection_options(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": f"file://{tmp_path}/token",
        }
    )
    assert options["token"]() == "abc"


def test_a_token_comes_from_an_endpoint_and_is_kept_until_it_ends(module: ModuleType) -> None:
    asked: list[tuple[str, str]] = []

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append((self.headers["Authorization"], body))
            content = json.dumps({"access_token": f"t{len(asked)}", "expires_in": 3600}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        token = module.connection_options(
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{server.server_port}/",
                "sasl.jaas.config": 'x required clientId="me" clientSecret="s" scope="kafka";',
            }
        )["token"]
        assert [token(), token()] == ["t1", "t1"]
        server.shutdown()
    assert asked == [("Basic bWU6cw==", "grant_type=client_credentials&scope=kafka")]
