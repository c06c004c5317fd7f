"""A partition in the message formats before 2: single messages and compressed wrappers."""

from random import Random

from laws.dump_files import Partition
from log_builder import LogBuilder

CODECS = ("gzip", "snappy", "lz4")


def old_format(topic: str, number: int, seed: int) -> tuple[Partition, int]:
    """A partition of messages of magic 0, then of magic 1, and the offset behind them."""
    chance, log = Random(f"{seed} {number} old"), LogBuilder()
    for magic in (0, 1):
        for _ in range(5):
            codec = chance.choice(("none", *CODECS))
            wrapper = "" if codec == "none" else f" n={chance.randint(1, 4)} codec={codec}"
            log.add(f"v{magic}{wrapper} size={chance.randint(0, 90)}")
    files = {f"{base:020}.log": bytes(content) for base, content in log.segments.items()}
    return Partition(topic, number, files), log.end
