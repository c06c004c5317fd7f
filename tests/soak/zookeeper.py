"""Real brokers governed by ZooKeeper, as all were up to Kafka 3.2 and some up to 3.9."""

import os
import subprocess
from collections.abc import Mapping, Sequence

from brokers.kafka_broker import Cluster, free_ports

ZOOKEEPER = 0  # its number among what runs


class ZooKeeperCluster(Cluster):
    """Brokers of one cluster, and the ZooKeeper beside them."""

    def _format(
        self, brokers: int, properties: Mapping[str, object], users: Sequence[str], voters: int
    ) -> None:
        self.zookeeper, *self.ports = free_ports(1 + brokers)
        for number, port in enumerate(self.ports, start=1):
            own = {
                "broker.id": number,
                "listeners": f"PLAINTEXT://127.0.0.1:{port}",
                "zookeeper.connect": f"127.0.0.1:{self.zookeeper}",
                "zookeeper.session.timeout.ms": 6000,
                "log.dirs": self._log_dirs(number),
            }
            self._write_properties(number, self._shared(min(brokers, 3)) | own | properties)

    def _port(self, number: int) -> int:
        return self.zookeeper if number == ZOOKEEPER else super()._port(number)

    def start_all(self) -> Cluster:
        self._file(ZOOKEEPER).write_text(
            f"dataDir={self.folder}/zookeeper\nclientPort={self.zookeeper}\n"
            "clientPortAddress=127.0.0.1\nadmin.enableServer=false\ntickTime=1000\n"
        )
        with (self.folder / "zookeeper.log").open("ab") as log:
            self._running[ZOOKEEPER] = subprocess.Popen(
                ["java", "-Xmx128m", "-cp", self.classes,
                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", self._file(ZOOKEEPER)],
                stdout=log, stderr=log, env=os.environ,
            )  # fmt: skip
        self._wait_for(self.zookeeper, self._running[ZOOKEEPER])
        return super().start_all()
