"""`make soak`: real brokers under a seeded load and seeded faults; what they leave is audited.

    python -m soak.run --first-seed 1 --seeds 20 --to build/soak

Each run makes SEED.tar.gz in the layout of the dumps in tests/dumps: the log directories, what the
brokers answered about them, and what was done. All histories are legal, so no audit may report a
violation; tests/stages/test_dumps.py holds every table against the answers (`make soak` calls it
on the folder). A run takes about a minute. The same seed makes the same plan, not the same bytes.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import BinaryIO

from brokers.kafka_broker import ROOT, Cluster, jars

from soak import clocks, epochs, told
from soak.plan import EPOCHS, HANGS, NEWEST, OTHER_CLIENTS, VERSIONS, Plan, plan_of
from soak.zookeeper import ZooKeeperCluster

HERE = Path(__file__).resolve().parent
REST_SECONDS = 9  # the longest brief transaction.timeout.ms, and the coordinator's next look
EXPIRY_SECONDS = 10  # a transactional id that expires is told by nobody and is in the copy
CALM_SECONDS = 3
TRIES = 5
# What lives for a minute is not worth the work of a second compiler.
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ANSWER_SECONDS = 600
STOP_SECONDS = 60
EXHAUST_SECONDS = 300
UNDER_LOAD = ("staggered", "take_dump", "fetched")
PROGRAMS = ("Load", "Answers", "Aborts")
# What they ask clients for came with Kafka 3.0.
OF_KIP_664 = ("Aborts",)


class Run:
    """One history: brokers, load, faults, copy."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self.scenario = folder / f"soak-{plan.seed}"
        self.chance = Random(f"run {plan.seed}")
        (folder / "brokers").mkdir(parents=True)
        kind = ZooKeeperCluster if plan.zookeeper else Cluster
        self.cluster = kind(
            plan.version, folder / "brokers", plan.brokers, plan.properties,
            controllers=1, directories=plan.directories,
        )  # fmt: skip
        self.dumped: dict[str, int] = {}
        self.acts: list[str] = []

    def make(self) -> Path:
        """Runs it to its end; the scenario's folder."""
        began = time.monotonic()
        self.oracle.mkdir(parents=True)
        try:
            self._clocks_apart()
            self.cluster.start_all()
            time.sleep(2)
            if EPOCHS in self.plan.faults:
                self._use_up()
            self._load(began)
            if self.plan.copied == "clean_stop":
                self._stop_cleanly()
            elif self.plan.copied == "killed":
                self._kill_all()
        finally:
            self.cluster.stop_all()
        self._describe()
        return self.scenario

    @property
    def oracle(self) -> Path:
        return self.scenario / "oracle"

    def _say(self, what: str) -> None:
        self.acts.append(f"{time.time_ns() // 1_000_000}\tsoak\t{what}")

    def _java(
        self, program: str, *words: str, told: BinaryIO, failed: BinaryIO
    ) -> "subprocess.Popen[bytes]":
        """Starts a program of this folder, with the clients of the brokers' release."""
        newer = program in OF_KIP_664 and self.plan.version < "3"
        path = self._compiled(NEWEST if newer else self.plan.version)
        command = ["java", "-Xmx256m", "-cp", path, program]
        return subprocess.Popen([*command, *words], stdout=told, stderr=failed)

    def _compiled(self, version: str) -> str:
        """The class path of the programs of this folder and of the clients of a release."""
        classes = self.folder / f"classes-{version}"
        path = f"{classes}:{jars(version)}"
        if not classes.exists():
            known = [one for one in PROGRAMS if version >= "3" or one not in OF_KIP_664]
            sources = [str(HERE / f"{one}.java") for one in known]
            subprocess.run(
                ["javac", "-nowarn", "-cp", jars(version), "-d", str(classes), *sources],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
        return path

    def _asked(self, *words: str) -> None:
        with (self.folder / "answers.log").open("ab") as log:
            done = self._java("Answers", *words, told=log, failed=log)
            if done.wait(ANSWER_SECONDS):
                raise RuntimeError(f"no answers: {(self.folder / 'answers.log').read_text()}")

    def _use_up(self) -> None:
        """A transactional id that has few epochs left, and a block of producer ids that is over."""
        servers = self.cluster.bootstrap.split(",")
        left = self.chance.randint(3, 40)
        reached = epochs.exhaust(servers, self.plan.brokers, "e-0", left, EXHAUST_SECONDS)
        self._say(f"e-0 has producer id, epoch {reached}, {left} left at most")
        self._say(f"producer ids up to {epochs.use_up_a_block(servers)} are taken")

    def _load(self, began: float) -> None:
        plan = self.plan
        folders = [str(self.cluster.data(1, one)) for one in range(plan.directories)]
        words = [self.cluster.bootstrap, str(plan.seed), str(plan.seconds), ",".join(plan.faults)]
        acted, failed = self.oracle / "journal.txt", self.folder / "load.log"
        with acted.open("wb") as journal, failed.open("wb") as log:
            load = self._java(
                "Load", *words, ",".join(folders), *plan.topics, told=journal, failed=log
            )
        while not acted.stat().st_size and load.poll() is None:
            time.sleep(0.1)
        self._say(f"load after {time.monotonic() - began:.1f} s")
        beside = self._beside(words[:3])
        self._faults()
        if plan.copied in UNDER_LOAD:
            self._copy_under_load()
        if load.wait(plan.seconds + ANSWER_SECONDS):
            raise RuntimeError(f"the load failed: {failed.read_text()}")
        for one in beside:
            if one.wait(ANSWER_SECONDS):
                raise RuntimeError(f"{one.args!r} failed: see {self.folder}/*.log")

    def _beside(self, words: Sequence[str]) -> list["subprocess.Popen[bytes]"]:
        """Starts the programs beside the load, of those faults that have one of their own."""
        bootstrap, _, seconds = words
        given = [*words, *self.plan.topics]
        started = []
        for name in ("aborts", HANGS, *OTHER_CLIENTS):
            if name not in self.plan.faults:
                continue
            acted, failed = self.oracle / f"{name}.txt", self.folder / f"{name}.log"
            with acted.open("wb") as journal, failed.open("wb") as log:
                if name == "aborts":
                    started.append(self._java("Aborts", *given, told=journal, failed=log))
                elif name == HANGS:
                    words = [bootstrap, seconds, "plain"]
                    started.append(_python("soak.hangs", *words, told=journal, failed=log))
                elif name != "librdkafka" or find_spec("confluent_kafka"):
                    started.append(_python("soak.others", name, *given, told=journal, failed=log))
                else:
                    self._say("librdkafka is not there: its clients are left out")
        return started

    def _clocks_apart(self) -> None:
        """Gives each broker a clock of its own, where libfaketime is installed."""
        if self.plan.clocks and clocks.library() is None:
            self._say("libfaketime is not there: clocks stay as they are")
            return
        for moment, number, seconds in self.plan.clocks:
            if moment == 0:
                self.cluster.variables[number] = clocks.environment(self._clock(number))
                self._set_clock(number, seconds)

    def _clock(self, number: int) -> Path:
        return self.folder / f"clock-{number}"

    def _set_clock(self, number: int, seconds: float) -> None:
        clocks.set_clock(self._clock(number), seconds)
        self._say(f"clock of broker {number} is {seconds:+.3f} s apart")

    def _faults(self) -> None:
        """All that happens to brokers, in the order of its moments."""
        plan = self.plan
        acts = [(moment, partial(self._again, signal.SIGKILL)) for moment in plan.kills]
        acts += [(moment, partial(self._again, signal.SIGTERM)) for moment in plan.restarts]
        acts += [(at, partial(self._set_version, to)) for at, to in plan.versions_of_transactions]
        if self.cluster.variables:
            steps = [one for one in plan.clocks if one[0] > 0]
            acts += [(at, partial(self._set_clock, number, to)) for at, number, to in steps]
        began = time.monotonic()
        for moment, act in sorted(acts, key=lambda one: one[0]):
            time.sleep(max(0.0, moment - (time.monotonic() - began)))
            act()

    def _again(self, how: int) -> None:
        """Ends a broker by a signal and starts it again."""
        number = self.chance.randint(1, self.plan.brokers)
        self._say(f"broker {number} ended by signal {int(how)}")
        self.cluster.stop(number, how, STOP_SECONDS)
        time.sleep(self.chance.uniform(0, 3))
        self.cluster.start(number)
        self.cluster.wait()

    def _set_version(self, version: int) -> None:
        for turn in ("upgrade", "downgrade"):
            words = [turn, "--feature", f"transaction.version={version}"]
            done = subprocess.run(
                ["java", "-Xmx128m", "-cp", self.cluster.classes,
                 "org.apache.kafka.tools.FeatureCommand", "--bootstrap-server",
                 self.cluster.bootstrap, *words],
                check=False, capture_output=True, text=True,
            )  # fmt: skip
            self._say(f"{' '.join(words)}: {done.stdout.strip()}")
            if done.returncode == 0:
                return

    def _stop_cleanly(self) -> None:
        """At rest, asked, stopped: the answers describe the copy."""
        expires = "transactional.id.expiration.ms" in self.plan.properties
        servers = self.cluster.bootstrap.split(",")
        told.wait_for_leaders(servers, ANSWER_SECONDS)
        time.sleep(REST_SECONDS + expires * EXPIRY_SECONDS)
        self._asked("calm", self.cluster.bootstrap)
        for _ in range(TRIES):
            time.sleep(CALM_SECONDS)
            before = told.ranges(servers)
            self._asked("ask", self.cluster.bootstrap, str(self.oracle))
            told.ask(servers, self.plan.brokers, self.oracle)
            if told.ranges(servers) == before:
                break
        else:
            raise RuntimeError("the cluster does not come to rest")
        for number in range(self.plan.brokers, 0, -1):
            self.cluster.stop(number, signal.SIGTERM, STOP_SECONDS)
        self._copy_all()

    def _kill_all(self) -> None:
        threads = [
            threading.Thread(target=self.cluster.stop, args=(number, signal.SIGKILL))
            for number in range(1, self.plan.brokers + 1)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self._copy_all()

    def _copy_under_load(self) -> None:
        if self.plan.copied == "fetched":
            self._fetch()
            return
        for number in self._in_any_order():
            if self.plan.copied == "take_dump":
                self._copy_by_tool(number)
            else:
                for source, to in self._directories(number):
                    self._copy_staggered(source, to)
            self.dumped[str(number)] = time.time_ns() // 1_000_000
            time.sleep(self.chance.uniform(0, 2))

    def _in_any_order(self) -> list[int]:
        return self.chance.sample(range(1, self.plan.brokers + 1), self.plan.brokers)

    def _directories(self, number: int) -> list[tuple[Path, Path]]:
        """Each log directory of a broker, and where it goes."""
        names = [f"broker-{number}", f"broker-b-{number}"]
        return [
            (self.cluster.data(number, one), self.scenario / "dump" / names[one])
            for one in range(self.plan.directories)
        ]

    def _copy_by_tool(self, number: int) -> None:
        for source, to in self._directories(number):
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                command = [sys.executable, str(ROOT / "scripts/take_dump.py"), "--to", folder]
                done = subprocess.run(
                    [*command, str(source)], check=False, capture_output=True, text=True
                )
                if done.returncode:
                    raise RuntimeError(f"take_dump.py, {done.returncode}: {done.stderr[-2000:]}")
                (made,) = Path(folder).iterdir()
                shutil.copytree(made, to)

    def _fetch(self) -> None:
        """Over the protocol; a second time, only what is new."""
        for _ in range(2):
            command = [
                sys.executable, str(ROOT / "scripts/take_dump.py"),
                "--to", str(self.scenario / "dump"), "--bootstrap", self.cluster.bootstrap,
            ]  # fmt: skip
            subprocess.run(command, check=True, capture_output=True)
            time.sleep(self.chance.uniform(0, 5))
        self.dumped["cluster"] = time.time_ns() // 1_000_000

    def _copy_staggered(self, source: Path, to: Path) -> None:
        """One partition after another, and the checkpoints at any moment; nothing is locked."""
        names = [one.name for one in source.iterdir()]
        self.chance.shuffle(names)
        to.mkdir(parents=True)
        for name in names:
            # Files vanish meanwhile, and cp copies the others.
            subprocess.run(["cp", "-a", name, to], cwd=source, check=False, capture_output=True)
            time.sleep(self.chance.uniform(0, 0.2))

    def _copy_all(self) -> None:
        for number in range(1, self.plan.brokers + 1):
            for source, to in self._directories(number):
                shutil.copytree(source, to)
            self.dumped[str(number)] = time.time_ns() // 1_000_000

    def _describe(self) -> None:
        under_load = self.plan.copied in UNDER_LOAD
        about = {
            "name": self.scenario.name,
            "kafka_version": self.plan.version,
            "legal": True,
            "dump": "live_copy" if under_load else self.plan.copied,
            "dumped_at_ms": self.dumped,
            "plan": asdict(self.plan),
            "acts": self.acts,
        }
        (self.scenario / "about.json").write_text(json.dumps(about, indent=1) + "\n")
        (self.scenario / "expected.json").write_text("[]\n")


def _python(
    module: str, *words: str, told: BinaryIO, failed: BinaryIO
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", module, *words], stdout=told, stderr=failed)


def make(plan: Plan, to: Path) -> Path:
    """The archive of a run; what a failed run leaves is kept as SEED.failed."""
    folder = Path(tempfile.mkdtemp(prefix=f"soak-{plan.seed}-"))
    archive = to / f"soak-{plan.seed}.tar.gz"
    to.mkdir(parents=True, exist_ok=True)
    try:
        scenario = Run(plan, folder).make()
    except BaseException:
        shutil.move(folder, to / f"soak-{plan.seed}.failed")
        raise
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(scenario, scenario.name)
    shutil.rmtree(folder)
    return archive


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=20, help="so many runs (default: 20)")
    parser.add_argument("--version", choices=VERSIONS, help="of Kafka, for all (default: drawn)")
    parser.add_argument("--seconds", type=int, help="of load in each run (default: drawn)")
    parser.add_argument("--to", type=Path, default=ROOT / "build/soak", metavar="DIR")
    asked = parser.parse_args(arguments)
    os.environ.setdefault("JDK_JAVA_OPTIONS", BRIEF)
    failed = 0
    for seed in range(asked.first_seed, asked.first_seed + asked.seeds):
        plan = plan_of(seed, asked.version, asked.seconds)
        began = time.monotonic()
        try:
            archive = make(plan, asked.to)
            said = f"{archive.stat().st_size >> 10:,} KiB"
        except (RuntimeError, AssertionError, OSError, subprocess.SubprocessError) as error:
            failed, said = failed + 1, f"FAILED: {error}"
        sys.stdout.write(
            f"seed {seed}: Kafka {plan.version}, {plan.brokers} brokers, {plan.copied}, "
            f"{','.join(plan.faults)}, {time.monotonic() - began:.0f} s: {said}\n"
        )
        sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
