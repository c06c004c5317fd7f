"""Random histories of several producers: healthy for the most part, a fault here and there.

Long enough that stretches of regular transactions are folded away when the log is read whole.
"""

import random
from typing import Any

from log_builder import Case

HISTORIES = 24
ROUNDS = 40
CLEANED_HISTORIES = 16
CLEANED_ROUNDS = 60
OFFSETS_HISTORIES = 6
OFFSETS_ROUNDS = 150
# Lines that write a batch; without a moment of its own, one has that of the line before.
DATED = ("txn", "commit", "abort", "plain")


class Producer:
    """One producer of a random history: TV2 bumps the epoch with every marker."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.number, self.chance = number, chance
        self.bumps = chance.random() < 0.7
        self.epoch, self.coordinator_epoch, self.open = 0, 0, False

    def step(self) -> str:
        """The next line of the log, right but for a fault now and then."""
        chance = self.chance
        fault = chance.random() < 0.03
        if self.open and chance.random() < 0.6:
            self.open = False
            self.epoch += self.bumps
            epoch = self.epoch + (chance.choice((-1, 2)) if fault else 0)
            verb = "abort" if chance.random() < 0.3 else "commit"
            self.coordinator_epoch += chance.random() < 0.05
            told = self.coordinator_epoch - (fault and chance.random() < 0.5)
            return f"{verb} pid={self.number} epoch={max(epoch, 0)} cepoch={max(told, 0)}"
        self.open = True
        fault_words = chance.choice((f"seq={chance.randint(0, 9)}", "at=-90000"))
        words = f" {fault_words}" if fault else ""
        if not self.bumps and chance.random() < 0.05:
            self.epoch += 1
        return f"txn pid={self.number} epoch={self.epoch} n={chance.randint(1, 3)}{words}"


def history(seed: int) -> list[str]:
    """The log of one seed; every fourth has damaged bytes."""
    chance = random.Random(seed)
    producers = [Producer(number, chance) for number in range(1, 5)]
    events = ["roll", "skip 2", "plain n=2"]
    if seed % 4 == 0:
        events += ["garbage 30", "plain n=2 crc=bad"]
    log = []
    for _ in range(ROUNDS * len(producers)):
        log.append(chance.choice(producers).step())
        if chance.random() < 0.02:
            log.append(chance.choice(events))
    # An event time of long ago, and no clock that is set back: markers go on from where it was.
    return [
        f"{line} at={second}" if line.startswith(DATED) and " at=" not in line else line
        for second, line in enumerate(log)
    ]


def offsets_history(seed: int) -> list[str]:
    """Offset commits of a few producers and partitions, some late, some plain."""
    chance = random.Random(seed)
    position = 0
    log = []
    for _ in range(OFFSETS_ROUNDS):
        pid, place = chance.choice((1, 1, 1, 2)), f"t-{chance.randint(0, 1)}"
        position += chance.randint(1, 2)
        late = max(position - chance.choice((0, 0, 5)), 0)
        kind = chance.random()
        if kind < 0.55:
            log.append(f"offsets pid={pid} epoch=0 group=g {place}={late}")
            log.append(f"{chance.choice(('commit', 'commit', 'abort'))} pid={pid} epoch=0")
        elif kind < 0.8:
            log.append(f"offsets pid={pid} epoch=0 group=g {place}={late}")
        elif kind < 0.88:
            log.append(f"offsets group=g {place}={chance.choice((position, 'none'))}")
        else:
            log.append("roll")
    return log


class Cleaned:
    """One producer of a log that was cleaned: its transactions, and what the cleaner left of them.

    `rate`: how often all data of a transaction are gone. Their marker may be there alone, emptied,
    or gone with them. `records`: what its coordinator wrote.
    """

    def __init__(self, number: int, chance: random.Random) -> None:
        self.number, self.chance = number, chance
        self.rate = chance.choice((0.3, 0.8, 0.97))
        self.bumps = chance.random() < 0.5
        self.epoch, self.sequence, self.coordinator_epoch = 0, 0, 0
        self.left: str | None = None
        self.records: list[str] = []

    def step(self, second: int) -> str:
        """The next line: data of a transaction or what is left of them, or its marker."""
        return self._data(second) if self.left is None else self._marker(self.left, second)

    def _record(self, state: str, second: int) -> None:
        version = " ctv=2" if self.bumps and state != "Ongoing" else ""
        record = f"id=p{self.number} pid={self.number} epoch={self.epoch} state={state} at={second}"
        self.records.append(record + version)

    def _data(self, second: int) -> str:
        chance, size = self.chance, self.chance.randint(1, 4)
        sequence = self.sequence + (chance.randint(1, 3) if chance.random() < 0.02 else 0)
        head = f"txn pid={self.number} epoch={self.epoch} seq={sequence}"
        self.sequence += size
        self._record("Ongoing", second)
        self.left = "gone" if chance.random() < self.rate else "there"
        if self.left == "gone":
            return f"skip {size}"
        shape = chance.random()
        if shape < 0.1:
            return f"{head} n={size} empty"
        if shape < 0.3 and size > 1:
            return f"{head} deltas=0 lod={size - 1} count=1"
        return f"{head} n={size}"

    def _marker(self, data: str, second: int) -> str:
        chance = self.chance
        self.left = None
        self.coordinator_epoch += chance.random() < 0.03
        if self.bumps:
            self.epoch, self.sequence = self.epoch + 1, 0
        verb = "abort" if chance.random() < 0.1 else "commit"
        for state in ("Prepare", "Complete"):
            self._record(state + verb.capitalize(), second)
        fate = chance.random()
        if data == "gone" and fate < 0.15:
            return "skip 1"
        fault = chance.random() < 0.03
        epoch = max(self.epoch - (fault and fate < 0.6), 0)
        told = max(self.coordinator_epoch - (fault and fate > 0.4), 0)
        empty = " empty" if data == "gone" and fate > 0.97 else ""
        return f"{verb} pid={self.number} epoch={epoch} cepoch={told}{empty}"


def cleaned_history(seed: int) -> dict[str, Any]:
    """A log of one seed whose older part was cleaned; now and then a marker is there once more.

    Of every other one the coordinator's log is there.
    """
    chance = random.Random(seed)
    producers = [Cleaned(number, chance) for number in range(1, 4)]
    log = ["plain key=a"]
    for _ in range(CLEANED_ROUNDS * len(producers)):
        line = chance.choice(producers).step(len(log))
        again = line.startswith(("commit", "abort")) and chance.random() < 0.05
        log += [line] * (1 + again)
        if chance.random() < 0.01:
            log.append("roll")
    reach = chance.choice((300, 2_000))
    end = ["plain key=z", "roll", "plain key=zz"]
    dated = [
        f"{line} at={second}" if line.startswith(DATED) else line
        for second, line in enumerate([*log, *end])
    ]
    records = [one for producer in producers for one in producer.records] if seed % 2 else []
    return {
        "name": f"seed {seed}",
        "log": dated,
        "cleaner": reach,
        "coordinator": records,
        "finds": [],
    }


def snapshots(seed: int) -> dict[str, Any]:
    """Producer snapshots within the log; every other log has lost its head, and begins with one."""
    if seed % 2:
        return {"snapshots": ["30", "70 pid=1 seq=77", "110"]}
    return {
        "first_base": 100,
        "snapshots": ["100 pid=1 seq=1 last=40 delta=0 at=-5 txn=40", "130 pid=2 cepoch=9"],
    }


def histories() -> list[Case]:
    """Cases that expect nothing in particular: what counts is that the findings never change."""
    of_data = [
        Case(
            "random",
            seed,
            {"name": f"seed {seed}", "log": history(seed), "finds": []} | snapshots(seed),
        )
        for seed in range(HISTORIES)
    ]
    of_offsets = {"topic": "__consumer_offsets", "finds": []}
    cleaned = [Case("cleaned", seed, cleaned_history(seed)) for seed in range(CLEANED_HISTORIES)]
    return (
        of_data
        + cleaned
        + [
            Case(
                "offsets", seed, of_offsets | {"name": f"seed {seed}", "log": offsets_history(seed)}
            )
            for seed in range(OFFSETS_HISTORIES)
        ]
    )
