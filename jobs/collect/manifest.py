"""`dump-manifest.json`: when each directory of a dump was copied (docs/operations.md)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from udfs.storage.dump_path import DumpPath
from udfs.storage.small_file import read_small
from udfs.wire import bounds

NAME = "dump-manifest.json"
FORMAT = 1
# The folder of the first copy of `__transaction_state`, taken before all data.
BEFORE = "before"
ALL_TOPICS = ("*",)
# The event of a run that met another topic of the same name.
MADE_AGAIN = "made_again"
LARGEST_PARTITION = (1 << 31) - 1


@dataclass(frozen=True)
class Copied:
    """One copied directory. `at_ms`: all that was appended before it is in the copy.

    `end_ms`: when the copying ended, None where nobody says so. Of one that was fetched over the
    protocol, `log_start` is what the leader said, and `fetched_end` the offset behind it (its
    segments are not the broker's), which was reached at `end_ms`.
    `fetched_from`: the first offset that the newest run fetched; None where nobody says so.
    `topic_id`: of what was fetched, as in partition.metadata; None where the topic has none, or
    nobody says so. `made_again_ms`: when it was last seen that the topic is another one.
    """

    at_ms: int
    high_watermark: int | None
    log_start: int | None = None
    fetched_end: int | None = None
    end_ms: int | None = None
    fetched_from: int | None = None
    topic_id: str | None = None
    made_again_ms: int | None = None


class NotFetched(NamedTuple):
    """A partition that the cluster has and that could not be fetched."""

    topic: str
    partition: int


@dataclass(frozen=True)
class Manifest:
    """What is believed of a manifest. `copies`: folder of a partition -> its copy.

    `topics`: patterns of those that were asked for; * and ? are known.
    """

    copies: Mapping[str, Copied] = field(default_factory=dict)
    not_fetched: Sequence[NotFetched] = ()
    topics: Sequence[str] = ALL_TOPICS


class ManifestError(ValueError):
    """A manifest that cannot be used; the message says why."""


def read_manifest(folder: DumpPath) -> Manifest:
    """The manifest of a log directory, an empty one where there is none.

    Folders of partitions are relative to `folder`.

    Directories whose files were still changing under the copy are left out. Raises ManifestError.
    """
    try:
        content = read_small(folder / NAME).decode("utf-8")
    except FileNotFoundError:
        return Manifest()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ManifestError(f"cannot be read ({why})") from error
    try:
        manifest = json.loads(content)
        known = manifest["format"]
        if known != FORMAT:
            raise ManifestError(f"has format {str(known)[:40]}, but only {FORMAT} is supported")
        fetched = manifest.get("fetched", False) is True
        made_again = _made_again(manifest.get("events", ()))
        copies = {
            _name(one["path"]): _copied(one, fetched, made_again.get(one["path"]))
            for one in manifest["directories"]
            if one.get("settled", True) and one["copy_start_ms"] is not None
        }
        refused = [_refused(one) for one in manifest.get("not_fetched", ())]
        return Manifest(copies, refused, [_name(one) for one in manifest.get("topics", ALL_TOPICS)])
    except ManifestError:
        raise
    except RecursionError as error:
        raise ManifestError("is damaged (nested too deeply)") from error
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ManifestError(f"is damaged ({type(error).__name__}: {str(error)[:200]})") from error


def _made_again(events: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Folder of a partition -> when its topic was last seen to be made again, ms."""
    moments: dict[str, int] = {}
    for one in events:
        if one["kind"] == MADE_AGAIN:
            path, at_ms = _name(one["path"]), _number(one["at_ms"], bounds.LATEST)
            moments[path] = max(at_ms, moments.get(path, 0))
    return moments


def _copied(one: dict[str, Any], fetched: bool, made_again_ms: int | None) -> Copied:
    at_ms, mark = _number(one["copy_start_ms"], bounds.LATEST), _offset(one.get("high_watermark"))
    end_ms, topic_id = one.get("copy_end_ms"), one.get("topic_id")
    until_ms = None if end_ms is None else _number(end_ms, bounds.LATEST)
    if not fetched:
        return Copied(at_ms, mark, end_ms=until_ms)
    return Copied(
        at_ms,
        mark,
        _offset(one.get("log_start")),
        _offset(one["end_offset"]),
        until_ms,
        _offset(one.get("fetched_from")),
        None if topic_id is None else _name(topic_id),
        made_again_ms,
    )


def _refused(one: dict[str, Any]) -> NotFetched:
    return NotFetched(_name(one["topic"]), _number(one["partition"], LARGEST_PARTITION))


def _offset(value: Any) -> int | None:
    return None if value is None else _number(value, bounds.HIGHEST)


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a path is not a string")
    return value


def _number(value: Any, largest: int) -> int:
    """A number of 0 to `largest`: JSON has others, too."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        raise ValueError(f"{str(value)[:40]!r} is neither a moment in ms nor an offset")
    return value
