"""What became of the faults, by kind, told as it goes."""

import sys
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """How often each thing happened, and how often it was wrong."""

    seen: Counter[str] = field(default_factory=Counter)
    wrong: int = 0

    def judge(self, what: str, wrong: str | None, where: str = "") -> None:
        """One fault and its end. `wrong`: what is wrong with it, None for nothing."""
        self.seen[what] += 1
        self.wrong += wrong is not None
        self.say(f"{what}{where and f' ({where})'}: {wrong or 'ok'}")

    def say(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
