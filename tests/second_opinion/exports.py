"""The kernel of the export, held against the second opinion on random logs; no Spark is needed."""

import io
import tempfile
from pathlib import Path

from second_opinion.random_logs import write_logs
from second_opinion.replay import opinion
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.export_split import export_split

OPTIONS = DecodeOptions(1 << 20, 1 << 20, 86_400_000, True)
EACH = 500


def exported(folder: Path, start: int, end: int) -> list[int]:
    """Offsets that the kernel exports of a log as one file, for a read_committed consumer."""
    segments = sorted(folder.glob("*.log"))
    content = b"".join(path.read_bytes() for path in segments)
    split = {
        "partition_index": 0, "topic": "t", "base_offset": int(segments[0].stem),
        "next_base_offset": None, "from_offset": start, "end_offset": end, "committed": True,
        "aborted_behind": None, "outcomes_told": None,
    }  # fmt: skip
    source = ByteRange(io.BytesIO(content), 0, len(content), len(content))
    return [
        offset
        for rows in export_split(source, split, OPTIONS)
        for offset in rows.column("offset").to_pylist()
    ]


def differing(seeds: range) -> tuple[list[int], int]:
    """Seeds of which the offsets differ, and how many offsets were compared."""
    wrong, offsets = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "b"
        for seed, place in zip(seeds, write_logs(folder, seeds), strict=True):
            ours = opinion(place)
            told = exported(place, ours.log_start, ours.last_stable)
            offsets += len(ours.received)
            if sorted(told) != ours.received:
                wrong.append(seed)
    return wrong, offsets
