"""`make fuzz-coverage`: the same targets, led by what code an input reaches (atheris).

Compiled kernels are not instrumented; of a segment it sees the Python around them. Arguments go to
libFuzzer: `-max_total_time=600`, `-runs=1000000`, `-seed=1`.
"""

import importlib
import random
import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parents[2]


def modules(compiled: bool) -> list[str]:
    """Modules of the decoders: those with compiled kernels, or those without."""
    paths = [*ROOT.glob("udfs/**/*.py"), *ROOT.glob("jobs/collect/*.py")]
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted(paths)
        if path.name != "__init__.py" and ("njit" in path.read_text("utf-8")) == compiled
    ]


with atheris.instrument_imports(include=["udfs", "jobs.collect"], exclude=modules(True)):
    for one in modules(False):
        importlib.import_module(one)
from fuzz.mutate import changed  # noqa: E402
from fuzz.run import keep, ready  # noqa: E402
from fuzz.seeds import Seed, seeds  # noqa: E402

TARGETS = ready()


def feed(data: bytes) -> None:
    """The first byte chooses the target, the second the kind of seed."""
    if len(data) < 2:
        return
    target = TARGETS[data[0] % len(TARGETS)]
    kind = target.kinds[data[1] % len(target.kinds)]
    origin = Seed(kind, b"")
    try:
        target.feed(data[2:], origin)
    except target.documented:
        return
    except Exception as error:
        keep(target, origin, data[2:], f"{type(error).__name__}: {error}"[:200])
        raise


def mutated(data: bytes, most: int, seed: int) -> bytes:
    """Every second time a change that knows the format."""
    if seed % 2 or len(data) < 2:
        return bytes(atheris.Mutate(data, most))
    target = TARGETS[data[0] % len(TARGETS)]
    kind = target.kinds[data[1] % len(target.kinds)]
    others = seeds().get(kind) or [Seed(kind, b"")]
    return (data[:2] + changed(random.Random(seed), Seed(kind, data[2:]), others))[:most]


def main() -> None:
    """Writes the seeds down and begins."""
    with tempfile.TemporaryDirectory() as folder:
        for number, target in enumerate(TARGETS):
            for which, kind in enumerate(target.kinds):
                for at, origin in enumerate(seeds().get(kind, ())[:20]):
                    name = Path(folder, f"{number}.{which}.{at}")
                    name.write_bytes(bytes([number, which]) + origin.data)
        options = ["-timeout=20", "-rss_limit_mb=3000", "-max_len=8192", *sys.argv[1:], folder]
        atheris.Setup([sys.argv[0], *options], feed, custom_mutator=mutated)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
