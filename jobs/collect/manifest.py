"""`dump-manifest.json`: when each directory of a dump was copied (docs/operations.md)."""

import json
from dataclasses import dataclass
from typing import Any

from udfs.storage.dump_path import DumpPath

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
        content = (folder / NAME).read_bytes().decode("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"cannot be read ({error})") from error
    try:
        manifest = json.loads(content)
        known = manifest["format"]
        if known != FORMAT:
            raise ManifestError(f"has format {known}, and only {FORMAT} is known")
        return {
            str(one["path"]): _copied(one)
            for one in manifest["directories"]
            if one.get("settled", True) and one["copy_start_ms"] is not None
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        if isinstance(error, ManifestError):
            raise
        raise ManifestError(f"is damaged ({type(error).__name__}: {error})") from error


def _copied(one: dict[str, Any]) -> Copied:
    mark = one.get("high_watermark")
    return Copied(int(one["copy_start_ms"]), None if mark is None else int(mark))
