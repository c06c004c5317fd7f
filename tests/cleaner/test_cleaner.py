"""The cleaner by bytes, each rule with the class it follows; and one seeded audit of clusters."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from laws import logs
from laws.dump_files import CLEANER, LOG_START, Directory, Partition
from laws.log_batches import batches
from log_builder import LogBuilder
from pyspark.sql import SparkSession

from cleaner.clusters import clusters
from cleaner.copies import Copy, last_records, read_log, states_of, write_log
from cleaner.log_cleaner import DELETE_RETENTION_MS, Log, Pass, clean, groups
from cleaner.run import audited
from udfs.wire.side_files import producer_snapshot

SLICE, CLUSTERS = "slice 5", 4
NOW = 10**13
LATER = NOW + DELETE_RETENTION_MS
NEW, NEWEST = (3, 9), (4, 0)
ABORTED = ("txn pid=1 key=a", "abort pid=1")


def made(*lines: str) -> tuple[Directory, Partition]:
    """A folder of one partition in the notation of the cases."""
    built = LogBuilder()
    for text in lines:
        built.add(text)
    files = {f"{base:020}.log": bytes(of) for base, of in built.segments.items()}
    for base, content in built.index_files("auto").items():
        files[f"{base:020}.txnindex"] = content
    one = Partition("t", 0, files)
    return Directory("clean", {}, [one]), one


def log_of(*lines: str) -> Log:
    return read_log(*made(*lines))


def last_pass(log: Log, now: int = NOW, **asked: object) -> Counter[str]:
    """Cleans up to the newest segment; no producer is known unless one is given."""
    given = {"release": NEW, "now": now, "uncleanable": log.segments[-1].base, "last": {}} | asked
    return clean(log, Pass(**given))


def left(log: Log) -> list[tuple[int, int]]:
    """(base offset, number of records) of each batch."""
    return [(batch.base_offset, batch.count) for one in log.segments for batch in one.batches]


def bases(log: Log) -> list[int]:
    return [one.base for one in log.segments]


def test_of_each_key_the_newest_record_below_the_active_segment_stays() -> None:
    """`Cleaner.buildOffsetMap`, `Cleaner.shouldRetainRecord`."""
    log = log_of("plain key=a n=2", "plain key=b", "roll", "plain key=a", "roll", "plain key=b")
    took = last_pass(log)
    assert left(log) == [(2, 1), (3, 1), (4, 1)]
    assert (took["records"], log.checkpoint) == (2, 4)


def test_a_record_without_a_key_goes() -> None:
    """`Cleaner.shouldRetainRecord`: `stats.invalidMessage`."""
    log = log_of("plain null_key", "plain key=a", "roll", "plain key=z")
    last_pass(log)
    assert left(log) == [(1, 1), (2, 1)]


def test_a_pass_ends_at_the_segment_of_the_first_unstable_offset() -> None:
    """`LogCleanerManager.calculateCleanableBytes`: whole segments only."""
    log = log_of("plain key=a", "roll", "plain key=a", "plain key=a", "roll", "plain key=a")
    assert not last_pass(log, uncleanable=0)["passes"]
    last_pass(log, uncleanable=2)
    assert (left(log), log.checkpoint) == ([(0, 1), (1, 1), (2, 1), (3, 1)], 1)
    last_pass(log, uncleanable=3)
    assert (left(log), log.checkpoint) == ([(2, 1), (3, 1)], 3)


def test_nothing_is_cleaned_again_before_something_is_dirty() -> None:
    """`LogCleanerManager.grabFilthiestCompactedLog`."""
    log = log_of(*ABORTED, "roll", "plain key=z")
    assert last_pass(log)["passes"] == 1
    assert not last_pass(log, LATER)


def test_a_tombstone_goes_in_a_pass_behind_its_horizon() -> None:
    """`MemoryRecords.filterTo`, `RecordBatch.deleteHorizonMs`."""
    log = log_of("plain key=a null_value", "roll", "plain key=y", "roll", "plain key=z")
    (written,) = log.segments[0].batches
    assert last_pass(log, uncleanable=1)["horizons"] == 1
    (batch,) = log.segments[0].batches
    assert (batch.has_horizon, batch.base_timestamp) == (True, LATER)
    assert batch.max_timestamp == written.max_timestamp
    last_pass(log, LATER - 1)
    assert left(log) == [(0, 1), (1, 1), (2, 1)]
    log = log_of("plain key=a null_value", "roll", "plain key=y", "roll", "plain key=z")
    last_pass(log, uncleanable=1)
    last_pass(log, LATER)
    assert left(log) == [(1, 1), (2, 1)]


def test_data_of_an_aborted_transaction_go_and_the_marker_two_passes_later() -> None:
    """`CleanedTransactionMetadata.onControlBatchRead`; the index is that of the data that were met.

    The first pass meets data; in the second none are met, so it sets the horizon.
    """
    log = log_of(*ABORTED, *(text for at in range(3) for text in ("roll", f"plain key={at}")))
    told = []
    for uncleanable in (2, 3, 4):
        last_pass(log, NOW + uncleanable * DELETE_RETENTION_MS, uncleanable=uncleanable)
        (segment, *_) = log.segments
        told.append(([one.last_offset for one in segment.aborted], left(log)[0][0]))
    assert told == [([1], 1), ([], 1), ([], 2)]


def test_a_commit_gets_a_horizon_once_no_data_of_it_are_met() -> None:
    """`CleanedTransactionMetadata.ongoingCommittedTxns`."""
    newer = (text for key in "ayz" for text in ("roll", f"plain key={key}"))
    log = log_of("txn pid=1 key=a", "commit pid=1", *newer)
    assert not last_pass(log, uncleanable=2)["horizons"]
    assert (last_pass(log, uncleanable=3)["records"], left(log)[0]) == (1, (1, 1))
    assert last_pass(log)["horizons"] == 1


def test_the_abort_of_a_transaction_below_the_log_start_goes_and_its_data_stay() -> None:
    """`UnifiedLog.collectAbortedTransactions` asks from the log start on."""
    log = log_of(*ABORTED, "plain key=b", "roll", "plain key=y", "roll", "plain key=z")
    log.start = 2
    last_pass(log, uncleanable=3)
    last_pass(log, LATER)
    assert left(log)[:2] == [(0, 1), (2, 1)]


@pytest.mark.parametrize(("release", "stays"), [((2, 8), False), (NEW, True)])
def test_before_3_1_the_age_of_a_segment_decides(release: tuple[int, ...], stays: bool) -> None:
    """`Cleaner.cleanSegments` of 2.8: `retainDeletesAndTxnMarkers`."""
    log = log_of("abort pid=1", "roll", "plain key=z")
    last_pass(log, release=release, old_below=1)
    assert ((0, 1) in left(log)) is stays
    assert log.segments[0].batches == [] or log.segments[0].batches[0].has_horizon


def test_the_header_of_a_producers_last_batch_stays() -> None:
    """`RecordFilter.checkBatchRetention`: `BatchRetention.RETAIN_EMPTY`."""
    log = log_of("data pid=1 key=a", "data pid=1 key=a n=2", "roll", "plain key=a", "roll", "plain")
    known = last_records(states_of(log.segments[0].batches))
    took = last_pass(log, last=known)
    assert left(log)[:2] == [(1, 0), (3, 1)]
    assert log.segments[0].batches[0].last_offset == 2
    assert took["emptied batches"] == 1


def test_the_marker_of_a_producer_without_data_is_emptied_and_goes_once_it_is_forgotten() -> None:
    """`UnifiedLog.lastRecordsOfActiveProducers`; an empty control batch may go."""
    lines = ("abort pid=1", "roll", "plain key=y", "roll", "plain key=x", "roll", "plain key=z")
    log = log_of(*lines)
    known = last_records(states_of(log.segments[0].batches))
    assert [data for data, _ in known.values()] == [None]
    last_pass(log, uncleanable=1, last=known)
    assert last_pass(log, LATER, uncleanable=2, last=known)["emptied markers"] == 1
    assert left(log)[0] == (0, 0)
    assert states_of(log.segments[0].batches)[log.segments[0].batches[0].producer_id][1] == -1
    assert last_pass(log, LATER)["headers"] == 1
    assert left(log)[0] == (1, 1)


@pytest.mark.parametrize(("release", "stays"), [(NEW, False), (NEWEST, True)])
def test_the_last_batch_of_a_round_stays_as_a_header(release: tuple[int, ...], stays: bool) -> None:
    """`Cleaner.cleanInto`: `upperBoundOffsetOfCleaningRound` (KAFKA-17076)."""
    log = log_of("plain key=a", "plain null_key", "roll", "plain key=z")
    last_pass(log, release=release)
    assert ((1, 0) in left(log)) is stays


def test_a_full_map_ends_a_pass_within_a_batch() -> None:
    """`SkimpyOffsetMap.put` moves the latest offset; what lies above it stays."""
    log = log_of("plain key=a", "plain key=b", "plain key=a", "plain key=c", "roll", "plain key=z")
    took = last_pass(log, slots=2)
    # `put` is not asked once the map is full, whatever key comes.
    assert (left(log), log.checkpoint) == ([(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)], 2)
    assert took["full maps"] == 1
    last_pass(log, slots=2)
    assert (left(log), log.checkpoint) == ([(1, 1), (2, 1), (3, 1), (4, 1)], 4)


def test_segments_are_merged_by_size() -> None:
    """`Cleaner.groupSegmentsBySize`; snapshots of what was merged go."""
    directory, one = made("plain key=a", "roll", "plain key=b", "roll", "plain key=c")
    one.files |= {f"{offset:020}.snapshot": b"" for offset in (1, 2, 3)}
    log = read_log(directory, one)
    assert [len(group) for group in groups(log.segments, log.segments[0].size)] == [1, 1, 1]
    assert last_pass(log)["merged segments"] == 1
    write_log(directory, one, log)
    assert (one.bases(), one.snapshots()) == ([0, 2], [2, 3])
    assert directory.checkpoint(CLEANER) == {one.place: 2}
    assert [batch.base_offset for batch in logs.all_batches(one)] == [0, 1, 2]


@pytest.mark.parametrize(("told", "checkpoint"), [(True, 0), (False, None)])
def test_a_pass_that_is_broken_off_has_written_its_first_groups(
    told: bool, checkpoint: int | None
) -> None:
    """`CleanerThread.cleanLog`: `doneCleaning` with the offset where it began, or nothing."""
    log = log_of("plain key=a", "roll", "plain key=b", "roll", "plain key=a", "roll", "plain key=b")
    took = last_pass(log, segment_bytes=0, groups=1, told=told)
    assert (left(log), bases(log)) == ([(1, 1), (2, 1), (3, 1)], [0, 1, 2, 3])
    assert (took["broken off"], log.checkpoint) == (1, checkpoint)


def test_a_checkpoint_below_the_log_start_is_moved_there() -> None:
    """`LogCleanerManager.cleanableOffsets`: `forceUpdateCheckpoint`."""
    log = log_of("plain key=a", "roll", "plain key=a", "roll", "plain key=z")
    log.checkpoint, log.start = 0, 2
    assert not last_pass(log)
    assert log.checkpoint == 2


def test_a_new_follower_begins_at_the_log_start_of_its_leader() -> None:
    """`ReplicaFetcherThread.truncateFullyAndStartAt`, `ProducerStateManager.takeSnapshot`."""
    directory, one = made(*ABORTED, "txn pid=2 key=b", "roll", "commit pid=2", "plain key=c")
    leader, follower = Copy(directory, one), Copy(directory, one.copy())
    leader.delete_records(2)
    assert follower.fetch_from(leader, Random(1))
    follower.store()
    assert follower.one.bases()[0] == 2
    assert logs.all_batches(follower.one) == logs.all_batches(one)[2:]
    assert follower.directory.checkpoint(LOG_START) == {}
    (offset,) = follower.one.snapshots()
    content = follower.one.files[f"{offset:020}.snapshot"]
    assert (offset, len(producer_snapshot.decode(content))) == (follower.end, 1)


def test_a_seed_makes_the_same_clusters_again() -> None:
    assert clusters("again", 2) == clusters("again", 2)
    assert clusters("again", 2) != clusters("other", 2)


def test_the_index_of_a_segment_tells_of_markers_that_are_in_it() -> None:
    """`TransactionIndex.append`, also of copies that were rolled, merged or fetched anew."""
    looked = 0
    for _, one in clusters("indexes", 4).dump.copies():
        before = -1
        for base in one.bases():
            inside = {batch.base_offset: batch.commit for batch in batches(one.segment(base))}
            assert min(inside, default=base) >= base > before
            before = max([base, *inside])
            for entry in logs.aborted(one, base):
                assert inside[entry.last_offset] is False
                looked += 1
    assert looked > 50


@pytest.mark.spark
@pytest.mark.slow
def test_no_cleaned_cluster_is_accused(spark: SparkSession, tmp_path: Path) -> None:
    made_clusters = clusters(SLICE, CLUSTERS)
    found = audited(spark, made_clusters, tmp_path)
    assert [one for one in found if one["verdict"] == "violation"] == []
    wanted = """records markers horizons headers passes moved_starts deleted_segments
        merged_segments emptied_batches emptied_markers full_maps broken_off fetched_copies"""
    took = made_clusters.took
    assert {name for name in wanted.split() if not took[name.replace("_", " ")]} == set()
