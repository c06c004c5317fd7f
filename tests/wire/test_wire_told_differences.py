"""What leaders told beside what the splits of a fetched log add up to, without Spark."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cases import cases_of
from log_builder import Case, DumpWriter
from split_rows import rows_of_split

from jobs.collect.collect import collect
from jobs.decode.splits import plan_splits
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.told_differences import STATES_OF_SPLIT, TOLD, compare_told

CHECKS = Path(__file__).parents[1] / "checks"
FAULTS = {
    "transaction/told_open_mismatch": {"open_in_memory", "open_in_log"},
    "transaction/told_lso_mismatch": {"stable_behind", "stable_ahead"},
    "producer/told_producer_mismatch": {"state"},
}
CASES = [case for name in FAULTS for case in cases_of(CHECKS / f"{name}.yaml")]
OPTIONS = DecodeOptions(1 << 20, 1 << 20, 86_400_000, True)


def differences(folder: Path, split_bytes: int) -> dict[str, list[dict[str, Any]]]:
    """Topic -> rows of TOLD_DIFFERENCE."""
    dump = collect([folder])
    asked = {one.partition_index for one in dump.partitions if one.told}
    states: dict[int, list[dict[str, Any]]] = {}
    for split in plan_splits(dump, split_bytes):
        if split["kind"] != "segment" or split["partition_index"] not in asked:
            continue
        split["beside"] = ()
        with Path(str(split["root"]), str(split["path"])).open("rb") as file:
            for row in rows_of_split(file, split, OPTIONS):
                if row["producer_states"] is not None:
                    there = row["producer_states"] | {"split_start": row["split_start"]}
                    states.setdefault(row["partition_index"], []).append(there)
    found: dict[str, list[dict[str, Any]]] = {}
    for one in dump.partitions:
        if one.told is None:
            continue
        before, after = one.told.before, one.told.after
        told = (
            one.partition_index, one.fetched_end, before.broker, before.high_watermark,
            before.stable, after.stable,
            *([p._asdict() for p in moment.producers] if moment.producers is not None else None
              for moment in (before, after)),
            one.fetched_from, one.log_start,
        )  # fmt: skip
        named = dict(zip(TOLD.names, told, strict=True))
        given = [
            {**named, **{name: row.get(name) for name in STATES_OF_SPLIT.names}}
            for row in states.get(one.partition_index, [{}])
        ]
        rows = compare_told(pa.Table.from_pylist(given)).to_pylist()
        found.setdefault(one.topic, []).extend(rows)
    return found


@pytest.mark.parametrize("split_bytes", [1 << 20, 97])
def test_differences_are_those_of_the_cases_however_files_are_split(
    tmp_path: Path, split_bytes: int
) -> None:
    DumpWriter(tmp_path / "dump").write(CASES)
    found = differences(tmp_path / "dump", split_bytes)
    for case in CASES:
        assert faults(found.get(case.topic, [])) == expected(case), case.name


def faults(rows: list[dict[str, Any]]) -> list[str]:
    """Which checks have a row to judge."""
    return sorted(name for row in rows for name in FAULTS if row["fault"] in FAULTS[name])


def expected(case: Case) -> list[str]:
    codes = [one["code"] for one in case.given["finds"]]
    return sorted(name for name in FAULTS for code in codes if name.endswith(f"/{code}"))
