"""Effective settings: `conf/audit.toml`, overlaid by the file given with `--config`."""

import difflib
import json
import tomllib
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jobs.model.errors import UsageError

MIB = 1 << 20
# Smallest value, largest value, step. Times in ms may be as long as a Java long holds.
ANY_LENGTH = (0, (1 << 63) - 1, 1)
ALLOWED = {
    "max_batch_bytes": (MIB, (1 << 31) - 1, 1),  # the length field of a batch is an int
    "max_decompressed_bytes": (MIB, (1 << 31) - 1, 1),
    "split_bytes": (MIB, 1 << 40, MIB),
    "examples_per_code": (0, 10_000, 1),
}


@dataclass(frozen=True)
class Settings:
    """All options of `conf/audit.toml`, flat; the reasons stand there."""

    producer_id_expiration_ms: int
    transaction_max_timeout_ms: int
    late_transaction_slack_ms: int
    clock_tolerance_ms: int
    max_batch_bytes: int
    max_decompressed_bytes: int
    split_bytes: int
    examples_per_code: int

    def digested(self) -> str:
        """The options that a verdict may depend on, as canonical JSON."""
        values = asdict(self)
        for name in ("split_bytes", "examples_per_code"):
            del values[name]
        return json.dumps(values, sort_keys=True)


def _defaults() -> dict[str, dict[str, Any]]:
    return tomllib.loads(resources.files("conf").joinpath("audit.toml").read_text("utf-8"))


def _overlay(sections: dict[str, dict[str, Any]], given: dict[str, Any], source: Path) -> None:
    names = [f"{section}.{key}" for section, options in sections.items() for key in options]
    for section, options in given.items():
        if section not in sections:
            near = _nearest(section, list(sections))
            known = ", ".join(f"[{name}]" for name in sections)
            raise UsageError(f"{source}: [{section}] is not a section{near}. Sections: {known}.")
        if not isinstance(options, dict):
            raise UsageError(
                f"{source}: {section} is a section; write it as [{section}] above its keys."
            )
        for key, value in options.items():
            if key not in sections[section]:
                near = _nearest(f"{section}.{key}", names)
                known = ", ".join(sections[section])
                raise UsageError(
                    f"{source}: {section}.{key} is not an option{near}. Options of "
                    f"[{section}]: {known}."
                )
            _check(f"{section}.{key}", value, source)
            sections[section][key] = value


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _check(name: str, value: object, source: Path) -> None:
    """Raises UsageError where the value of an option is not allowed."""
    smallest, largest, step = ALLOWED.get(name.split(".")[1], ANY_LENGTH)
    number = value if isinstance(value, int) and not isinstance(value, bool) else -1
    if smallest <= number <= largest and number % step == 0:
        return
    multiple = f"a multiple of {step:,}" if step > 1 else "an integer"
    raise UsageError(
        f"{source}: {name} is {value!r}; expected {multiple} from {smallest:,} to {largest:,}."
    )


def load(config: Path | None = None, **overrides: int) -> Settings:
    """Settings from the defaults, the file `config`, and keyword overrides, in this order.

    Raises UsageError for a file that cannot be read, an unknown key or a value of a wrong type.
    """
    sections = _defaults()
    if config is not None:
        try:
            given = tomllib.loads(config.read_text("utf-8"))
        except OSError as error:
            raise UsageError(
                f"{config}: the configuration cannot be read: {error.strerror}."
            ) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{config}: not valid TOML: {error}.") from error
        _overlay(sections, given, config)
    flat = {key: value for options in sections.values() for key, value in options.items()}
    return Settings(**(flat | overrides))
