"""What a broker refuses or slows down: SASL/PLAIN, ACLs, quotas. For `make test-brokers`."""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from brokers.kafka_broker import ROOT, Cluster, free_ports
from brokers.test_fetched_dump import create, differing, manifest, take, write_transactions
from brokers.test_live_audit import audit, leave_hanging

pytest.importorskip("kafka", reason="the clients of these tests are those of kafka-python")
pytestmark = pytest.mark.skipif(
    "EOSAUDIT_BROKERS" not in os.environ, reason="make test-brokers runs it"
)

from kafka import KafkaAdminClient  # noqa: E402
from kafka.admin import (  # noqa: E402
    ACL,
    ACLOperation,
    ACLPermissionType,
    ResourcePattern,
    ResourceType,
)

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
THROTTLED = 200_000  # bytes a second


class Guarded(Cluster):
    """A broker with ACLs. Its first listener is that of an operator, `secure` that of users."""

    def __init__(self, version: str, folder: Path) -> None:
        plain, self.secure, controller = free_ports(3)
        super().__init__(
            version,
            folder,
            properties={
                "listeners": f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:"
                f"{self.secure},CONTROLLER://127.0.0.1:{controller}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,"
                "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
                "controller.quorum.voters": f"1@127.0.0.1:{controller}",
                "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
                "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": f"{BEARER} "
                'unsecuredLoginStringClaim_sub="broker";',
                "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{PLAIN} "
                'user_ann="secret" user_bob="secret";',
                "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
                "super.users": "User:ANONYMOUS;User:bob",
                "transaction.partition.verification.enable": "false",
            },
        )
        self.ports = [plain]

    @property
    def users(self) -> str:
        return f"127.0.0.1:{self.secure}"

    def login(self, user: str, password: str = "secret") -> str:
        """A client.properties."""
        file = self.folder / f"{user}-{password}.properties"
        file.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={PLAIN} username="{user}" password="{password}";\n'
        )
        return str(file)

    def token(self, user: str, lasts: int) -> str:
        """A client.properties with a token for so many s; the broker wants no signature."""
        claims = {"sub": user, "iat": time.time() - 60, "exp": time.time() + lasts}
        parts = [base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=")
                 for one in ({"alg": "none"}, claims)]  # fmt: skip
        (self.folder / f"{user}-{lasts}.token").write_text(".".join([*parts, ""]))
        file = self.folder / f"{user}-{lasts}.properties"
        file.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
            f"sasl.jaas.config={BEARER};\nsasl.oauthbearer.token.endpoint.url="
            f"file://{self.folder}/{user}-{lasts}.token\n"
        )
        return str(file)

    def allow(self, user: str, topic: str, *operations: ACLOperation) -> None:
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        pattern = ResourcePattern(ResourceType.TOPIC, topic)
        admin.create_acls(
            [ACL(f"User:{user}", "*", o, ACLPermissionType.ALLOW, pattern) for o in operations]
        )
        admin.close()
        time.sleep(1)


@pytest.fixture(params=["3.9.1", "4.1.0"])
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Guarded]:
    started = Guarded(request.param, tmp_path)
    try:
        started.start_all()
        yield started
    finally:
        started.stop_all()


def verdicts(verdict: dict[str, Any], code: str) -> dict[str, int]:
    return {one["verdict"]: one["count"] for one in verdict["findings"] if one["code"] == code}


def test_what_the_acls_refuse_is_not_looked_at_and_weakens_verdicts(
    guarded: Guarded, tmp_path: Path
) -> None:
    create(guarded, orders=1)
    leave_hanging(guarded, "orders")
    guarded.allow("ann", "orders", ACLOperation.READ)
    # Named in the metadata, and not to be read; __consumer_offsets is not even named.
    guarded.allow("ann", "__transaction_state", ACLOperation.DESCRIBE)
    later = str(time.time_ns() // 1_000_000 + 3_600_000)
    live = ["--bootstrap", guarded.users, "--as-of", later]

    said = take(
        guarded, tmp_path / "no", "--bootstrap", guarded.users,
        "--config", guarded.login("ann", "wrong"), code=2,
    )  # fmt: skip
    assert "Traceback" not in said and "Authentication failed" in said

    whole = audit(tmp_path / "bob", *live, "--command-config", guarded.login("bob"), code=1)
    assert verdicts(whole, "hanging_transaction") == {"violation": 1}

    partly = audit(tmp_path / "ann", *live, "--command-config", guarded.login("ann"))
    told = manifest(tmp_path / "ann/fetched")
    assert {(one["topic"], one["reason"]) for one in told["not_fetched"]} == {
        ("__transaction_state", "the cluster's ACLs refuse to read the topic")
    }
    assert {entry["topic"] for entry in told["directories"]} == {"orders"}
    assert verdicts(partly, "hanging_transaction") == {"inconclusive": 1}
    assert any("__transaction_state" in line for line in partly["not_looked_at"])


def test_a_token_opens_the_door_as_long_as_it_lasts(guarded: Guarded, tmp_path: Path) -> None:
    create(guarded, orders=1)
    write_transactions(guarded, "orders", 2)
    at = ["--bootstrap", guarded.users, "--config"]
    said = take(guarded, tmp_path / "no", *at, guarded.token("bob", -30), code=2)
    assert "Traceback" not in said
    take(guarded, tmp_path / "d", *at, guarded.token("bob", 600))
    assert differing(guarded, tmp_path / "d") == []


def test_where_nobody_listens_the_same_command_may_do_it_later(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    out = str(tmp_path / "out")
    done = subprocess.run(
        [sys.executable, "jobs/main.py", "audit", "--bootstrap", f"127.0.0.1:{port}", "--out", out,
         "--quiet"],
        check=False, capture_output=True, text=True, cwd=ROOT, timeout=120,
    )  # fmt: skip
    assert done.returncode == 3
    (said,) = done.stderr.splitlines()
    assert f"no broker answers at 127.0.0.1:{port}" in said
    assert "give the same command again" in said


def test_a_broker_that_throttles_is_waited_for(tmp_path: Path) -> None:
    quota = {"quota.window.num": 3}
    cluster = Cluster("4.1.0", tmp_path, properties=quota)
    try:
        cluster.start_all()
        create(cluster, orders=1)
        write_transactions(cluster, "orders", 150)
        _limit_consumers(cluster)
        size = sum(path.stat().st_size for path in (cluster.data() / "orders-0").glob("*.log"))
        begun = time.monotonic()
        take(cluster, tmp_path / "d", "--topics", "orders")
        took = time.monotonic() - begun
        assert differing(cluster, tmp_path / "d") == []
        # The first windows are free.
        assert took > size / THROTTLED / 4, (took, size)
    finally:
        cluster.stop_all()


def _limit_consumers(cluster: Cluster) -> None:
    """consumer_byte_rate of all clients."""
    from kafka.protocol.admin import AlterClientQuotasRequest  # noqa: PLC0415

    of = AlterClientQuotasRequest.EntryData
    entity = of.EntityData(entity_type="client-id", entity_name=None)
    rate = of.OpData(key="consumer_byte_rate", value=float(THROTTLED), remove=False)
    request = AlterClientQuotasRequest(
        entries=[of(entity=[entity], ops=[rate])], validate_only=False
    )
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    answer = admin._manager.run(admin._manager.send, request)
    admin.close()
    assert [one.error_code for one in answer.entries] == [0]
    time.sleep(1)
