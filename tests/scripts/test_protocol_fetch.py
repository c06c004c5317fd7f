"""One partition over the protocol: what is fetched, kept and told, whatever the leader does."""

import importlib
import uuid
from pathlib import Path
from typing import Any

import pytest
from scripts.protocol_fakes import Leader, batch

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
ID, OTHER_ID = uuid.UUID(int=1), uuid.UUID(int=2)


class Copy:
    """A partition folder that is brought up to date from a leader."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(SCRIPTS)
        self.fetching = importlib.import_module("_protocol_fetch")
        self.values = importlib.import_module("_protocol_values")
        monkeypatch.setattr(self.fetching, "FIRST_PAUSE", 0.0)
        self.folder = folder / "orders-0"
        self.size = 200

    def partition(self, topic_id: uuid.UUID | None = ID, leader: int = 1) -> Any:
        return self.values.Partition("orders", topic_id, 0, leader, 0, 1, 0)

    def leader(self, batches: list[bytes], log_start: int = 0) -> Leader:
        return Leader(self.partition(), batches, log_start)

    def fetch(self, leader: Leader, patience: float = 5.0) -> list[dict[str, Any]]:
        """Brings the folder up to date; the events."""
        pace = self.fetching.Pace(now=lambda: 1000, patience=patience, answer_bytes=self.size)
        fetch = self.fetching.PartitionFetch(leader, leader.partition, self.folder, pace)
        self.log, self.known = fetch.run()
        self.fetched_from = fetch.fetched_from
        return list(fetch.events)

    def bytes(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.folder.glob("*.log")))


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copy:
    return Copy(tmp_path, monkeypatch)


LOG = [batch(n, epoch=n // 4) for n in range(8)]


def test_all_batches_up_to_the_high_watermark_arrive_once(copy: Copy) -> None:
    leader = copy.leader(LOG)
    assert copy.fetch(leader) == []
    assert copy.bytes() == b"".join(LOG)
    assert (copy.known.high_watermark, copy.known.log_start, copy.log.end) == (8, 0, 8)
    assert copy.fetched_from == 0
    metadata = (copy.folder / "partition.metadata").read_text()
    assert metadata == "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"


@pytest.mark.parametrize("behind", [3, 8, 20])
def test_what_a_leader_just_elected_does_not_show_yet_arrives(copy: Copy, behind: int) -> None:
    leader = copy.leader(LOG)
    leader.behind = behind
    copy.fetch(leader)
    assert copy.bytes() == b"".join(LOG)
    assert copy.known.high_watermark == 8


def test_a_batch_larger_than_an_answer_arrives(copy: Copy) -> None:
    leader = copy.leader([batch(0, 9, size=5000), batch(9)])
    copy.fetch(leader)
    assert copy.bytes() == b"".join(leader.batches)


def test_a_partition_without_records_is_an_empty_segment_of_its_log_start(copy: Copy) -> None:
    copy.fetch(copy.leader([], log_start=40))
    assert [path.name for path in copy.folder.glob("*.log")] == [f"{40:020}.log"]


def test_a_second_run_fetches_only_what_is_new_and_keeps_what_retention_removed(
    copy: Copy,
) -> None:
    copy.fetch(copy.leader(LOG[:5]))
    later = copy.leader(LOG[3:], log_start=3)
    assert copy.fetch(later) == []
    assert later.asked[0] == copy.fetched_from == 5
    assert copy.bytes() == b"".join(LOG)
    assert copy.known.log_start == 3


def test_where_all_is_deleted_an_empty_segment_tells_where_the_log_begins(copy: Copy) -> None:
    copy.fetch(copy.leader(LOG))
    assert copy.fetch(copy.leader([], log_start=8)) == []
    assert [path.name for path in sorted(copy.folder.glob("*.log"))] == [
        f"{0:020}.log", f"{8:020}.log",
    ]  # fmt: skip
    assert copy.bytes() == b"".join(LOG)
    copy.fetch(copy.leader([batch(8, epoch=2)], log_start=8))
    assert copy.bytes() == b"".join(LOG) + batch(8, epoch=2)


@pytest.mark.parametrize("error", [3, 5, 6, 7, 56, 74, 75, 78])
def test_passing_errors_are_waited_out(copy: Copy, error: int) -> None:
    leader = copy.leader(LOG)
    leader.trouble = [error, copy.values.PassingError("connection lost"), error]
    assert copy.fetch(leader) == []
    assert copy.bytes() == b"".join(LOG)
    assert copy.fetched_from == 0


def test_what_another_try_of_the_run_had_fetched_is_of_this_run(copy: Copy) -> None:
    copy.fetch(copy.leader(LOG[:3]))
    leader = copy.leader(LOG)
    answered = leader.fetch

    def then_lost(*asked: Any) -> Any:
        leader.fetch = answered  # type: ignore[method-assign]
        answer = answered(*asked)
        leader.trouble = [6]
        return answer

    leader.fetch = then_lost  # type: ignore[method-assign]
    copy.size = 100
    assert copy.fetch(leader) == []
    assert copy.fetched_from == leader.asked[0] == 3
    assert copy.bytes() == b"".join(LOG)


def test_the_new_leader_is_asked(copy: Copy) -> None:
    leader = copy.leader(LOG)
    leader.partition = copy.partition(leader=-1)
    found: list[int] = []

    def elect() -> None:
        leader.partition = copy.partition(leader=2)
        found.append(2)

    leader.lost = elect
    copy.fetch(leader)
    assert found == [2]
    assert copy.bytes() == b"".join(LOG)


def test_a_cluster_that_stays_away_is_given_up_with_a_sentence(copy: Copy) -> None:
    leader = copy.leader(LOG)
    leader.trouble = [6] * 1000
    with pytest.raises(copy.fetching.CopyError, match="orders-0: the leader answered with error 6"):
        copy.fetch(leader, patience=0.05)


def test_what_acls_refuse_is_refused(copy: Copy) -> None:
    leader = copy.leader(LOG)
    leader.trouble = [29]
    with pytest.raises(copy.fetching.RefusedError, match="ACLs"):
        copy.fetch(leader)


def test_a_partition_that_disappears_is_gone(copy: Copy) -> None:
    leader = copy.leader(LOG)
    leader.trouble = [3]

    def delete() -> None:
        leader.partition = copy.partition()._replace(number=-1, error=3)

    leader.lost = delete
    with pytest.raises(copy.fetching.GoneError):
        copy.fetch(leader)


def test_a_topic_made_again_is_fetched_anew_and_the_older_one_kept(copy: Copy) -> None:
    copy.fetch(copy.leader(LOG))
    again = copy.leader(LOG[:2])
    again.partition = copy.partition(OTHER_ID)
    (event,) = copy.fetch(again)
    assert (event["kind"], event["topic_id"]) == ("made_again", "AAAAAAAAAAAAAAAAAAAAAQ")
    assert copy.bytes() == b"".join(LOG[:2])
    kept = copy.folder.with_name(event["kept_as"])
    assert (kept / f"{0:020}.log").read_bytes() == b"".join(LOG)
    file_names = importlib.import_module("jobs.model.file_names")
    assert file_names.name_folder(kept.name) == ("orders", 0, "delete")


def test_what_an_unclean_election_lost_is_kept_beside_the_log(copy: Copy) -> None:
    copy.fetch(copy.leader(LOG))
    new = [*LOG[:5], batch(5, epoch=2), batch(6, 4, epoch=2)]
    (event,) = copy.fetch(copy.leader(new))
    assert (event["kind"], event["from_offset"], event["to_offset"]) == ("truncated", 5, 8)
    assert copy.bytes() == b"".join(new)
    assert copy.fetched_from == 5
    kept = b"".join(path.read_bytes() for path in sorted(copy.folder.glob("*.cut")))
    assert kept == b"".join(LOG[5:])


def test_a_log_that_ends_earlier_was_truncated_also_without_epochs(copy: Copy) -> None:
    copy.fetch(copy.leader(LOG))
    shorter = copy.leader(LOG[:6])
    shorter.end_of_epoch = lambda partition, epoch: (0, -1, -1)  # type: ignore[method-assign]
    (event,) = copy.fetch(shorter)
    assert (event["kind"], event["from_offset"], event["to_offset"]) == ("truncated", 6, 8)
    assert copy.bytes() == b"".join(LOG[:6])


def test_where_retention_went_past_the_copy_it_begins_anew(copy: Copy) -> None:
    copy.fetch(copy.leader(LOG[:3]))
    (event,) = copy.fetch(copy.leader(LOG[5:], log_start=5))
    assert (event["kind"], event["from_offset"], event["to_offset"]) == ("trimmed_past", 3, 5)
    assert copy.bytes() == b"".join(LOG[5:])
    assert copy.fetched_from == 5
    assert copy.folder.with_name(event["kept_as"]).is_dir()


def test_what_was_compacted_before_it_was_fetched_is_told(copy: Copy) -> None:
    copy.fetch(copy.leader(LOG[:3]))
    compacted = copy.leader([LOG[0], LOG[5], LOG[7]])
    # An epoch ends where the next one begins, whatever the cleaner took.
    compacted.end_of_epoch = lambda partition, epoch: (0, epoch, 4)  # type: ignore[method-assign]
    (event,) = copy.fetch(compacted)
    assert (event["kind"], event["from_offset"], event["to_offset"]) == ("compacted", 3, 5)
    # What was fetched before is there as it was.
    assert copy.bytes() == b"".join([*LOG[:3], LOG[5], LOG[7]])


def test_a_leader_that_does_not_know_epochs_is_believed(copy: Copy) -> None:
    copy.fetch(copy.leader(LOG[:3]))
    leader = copy.leader(LOG)
    leader.end_of_epoch = lambda partition, epoch: (35, -1, -1)  # type: ignore[method-assign]
    assert copy.fetch(leader) == []
    assert copy.bytes() == b"".join(LOG)
