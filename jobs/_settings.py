"""Effective settings: `conf/audit.toml`, overlaid by the file given with `--config`."""

import difflib
import json
import tomllib
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jobs._errors import UsageError


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
    for section, options in given.items():
        if section not in sections or not isinstance(options, dict):
            raise UsageError(_unknown(f"[{section}]", list(sections), source))
        for key, value in options.items():
            if key not in sections[section]:
                raise UsageError(_unknown(f"{section}.{key}", list(sections[section]), source))
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise UsageError(
                    f"{source}: {section}.{key} is {value!r}; it must be an integer of at least 0."
                )
            sections[section][key] = value


def _unknown(name: str, known: list[str], source: Path) -> str:
    near = difflib.get_close_matches(name.rsplit(".", maxsplit=1)[-1].strip("[]"), known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"{source}: {name} is no option.{hint} Known here: {', '.join(sorted(known))}."


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
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{config}: no valid TOML: {error}.") from error
        _overlay(sections, given, config)
    flat = {key: value for options in sections.values() for key, value in options.items()}
    return Settings(**(flat | overrides))
