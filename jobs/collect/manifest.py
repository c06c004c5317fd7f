"""`dump-manifest.json`: when each directory of a dump was copied (docs/operations.md)."""

import json
from dataclasses import dataclass
from typing import Any

from udfs.storage.dump_path import DumpPath
from udfs.storage.small_file import read_small
from udfs.wire import bounds

NAME = "dump-manifest.json"
FORMAT = 1
# The folder of the first copy of `__transaction_state`, taken before all data.
BEFORE = "before"


@dataclass(frozen=True)
class Copied:
    """One copied directory. `at_ms`: all that was appended before it is in the copy."""

    at_ms: int
    high_watermark: int | None


class ManifestError(ValueError):
    """A manifest that cannot be used; the message says why."""


def read_manifest(folder: DumpPath) -> dict[str, Copied]:
    """Folder of a partition, relative to `folder` -> its copy; empty without a manifest.

    Directories whose files were still changing under the copy are left out. Raises ManifestError.
    """
    try:
        content = read_small(folder / NAME).decode("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ManifestError(f"cannot be read ({why})") from error
    try:
        manifest = json.loads(content)
        known = manifest["format"]
        if known != FORMAT:
            raise ManifestError(f"has format {str(known)[:40]}, but only {FORMAT} is supported")
        return {
            _name(one["path"]): _copied(one)
            for one in manifest["directories"]
            if one.get("settled", True) and one["copy_start_ms"] is not None
        }
    except ManifestError:
        raise
    except RecursionError as error:
        raise ManifestError("is damaged (nested too deeply)") from error
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ManifestError(f"is damaged ({type(error).__name__}: {str(error)[:200]})") from error


def _copied(one: dict[str, Any]) -> Copied:
    mark = one.get("high_watermark")
    at_ms = _number(one["copy_start_ms"], bounds.LATEST)
    return Copied(at_ms, None if mark is None else _number(mark, bounds.HIGHEST))


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a path is not a string")
    return value


def _number(value: Any, largest: int) -> int:
    """A number of 0 to `largest`: JSON has others, too."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        raise ValueError(f"{str(value)[:40]!r} is neither a moment in ms nor an offset")
    return value
