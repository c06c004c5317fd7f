"""Repair plans: steps whose consequence is there, with commands for the places that need them."""

from typing import Any

import pytest

from jobs.incidents.catalogue import SIGNATURES
from jobs.incidents.plan import MOST_PLACES, Commit, Place, plan
from jobs.incidents.signature import DECISION_LOST, FORGOTTEN
from jobs.model.commands import FOR_OLDER

TOOL = "kafka-transactions.sh --bootstrap-server HOST:PORT"
BY_NAME = {signature.name: signature for signature in SIGNATURES}


def blocked(
    partition: int, topic: str = "m", ended_by: str = "abort", older: int | None = 4
) -> Place:
    of_holder = (ended_by, 12, 10, 480, older)
    return Place("records_blocked", 1, topic, partition, 485, 609, *of_holder)


def commands(steps: list[dict[str, Any]]) -> str:
    return "\n".join(step["command"] or "" for step in steps)


def test_each_blocked_partition_has_its_command_with_the_holders_own_first_offset() -> None:
    steps = plan(BY_NAME["skipped_markers"], [blocked(0), blocked(2, older=None)])
    tool = f"{TOOL} abort --topic m --partition {{}} "
    whose = "# producer 12, epoch 10, from offset 480 on"
    older = "--producer-id 12 --producer-epoch 10 --coordinator-epoch 4"
    look, abort = steps[:2]
    assert look["command"].splitlines() == [
        whose,
        f"{TOOL} describe-producers --topic m --partition 0",
        whose,
        f"{TOOL} describe-producers --topic m --partition 2",
    ]
    assert abort["command"].splitlines() == [
        whose,
        tool.format(0) + "--start-offset 480",
        f"# {FOR_OLDER}:",
        f"# {tool.format(0)}{older}",
        whose,
        tool.format(2) + "--start-offset 480",
    ]
    assert (look["reversible"], abort["reversible"]) == (True, False)
    assert "no transaction of its transactional id" in look["check"]
    assert "the step before" in abort["before"]


@pytest.mark.parametrize("name", sorted(BY_NAME))
@pytest.mark.parametrize("topic", ["m", "__consumer_offsets"])
def test_what_blocks_readers_is_ended_whatever_caused_it(name: str, topic: str) -> None:
    told = commands(plan(BY_NAME[name], [blocked(0, topic)]))
    assert told.count(f"\n{TOOL} abort --topic {topic} --partition 0 --start-offset 480") == 1
    assert "abort --" not in commands(plan(BY_NAME[name], [blocked(0, topic, "decided")]))


@pytest.mark.parametrize("ended_by", ["decided", "running"])
def test_what_its_own_marker_ends_is_not_aborted(ended_by: str) -> None:
    steps = plan(BY_NAME["skipped_markers"], [blocked(0, ended_by=ended_by), blocked(2)])
    told = commands(steps)
    assert "describe-producers --topic m --partition 0" in told
    assert "abort --topic m --partition 0" not in told
    assert "abort --topic m --partition 2" in told
    assert steps[0]["what"].startswith("Do not abort it")


@pytest.mark.parametrize(("ended_by", "saved"), [("save_and_abort", True), ("abort", False)])
def test_what_may_be_committed_is_saved_first(ended_by: str, saved: bool) -> None:
    (first, *others) = plan(BY_NAME["late_write"], [blocked(0, ended_by=ended_by)])
    assert first["what"].startswith("Save its records before") == saved
    assert " abort --topic m --partition 0 " in commands([first, *others])


def test_a_step_without_its_consequence_is_left_out() -> None:
    whole, nothing = (plan(BY_NAME["skipped_markers"], p) for p in ([blocked(0)], []))
    assert len(whole) == len(nothing) + 2
    assert not any(step["command"] for step in nothing)


def test_a_command_about_a_topic_is_told_once_a_topic() -> None:
    lost = [Place("records_lost", None, "u", n, None, None) for n in range(3)]
    commands = [step["command"] for step in plan(BY_NAME["unclean_election"], lost)]
    assert [c for c in commands if c and "export" in c] == [
        "./spark-submit.sh export --dump COPY --out RESCUED --topic u --to-log-end"
    ]


def test_what_the_new_leader_waits_for_is_aborted_where_there_is_any() -> None:
    signature = BY_NAME["unclean_election"]
    steps = plan(signature, [blocked(0), Place("records_lost", 1, "u", 0, 3, 8)])
    aborts = [one for one in steps if one["command"] and " abort " in one["command"]]
    assert len(aborts) == 1 and not aborts[0]["reversible"]
    lost_alone = plan(signature, [Place("records_lost", 1, "u", 0, 3, 8)])
    assert len(lost_alone) == len(steps) - 2


def test_many_places_are_cut_and_counted() -> None:
    places = [blocked(n) for n in range(MOST_PLACES + 5)]
    look, abort, *_ = plan(BY_NAME["late_write"], places)
    assert len(look["command"].splitlines()) == 2 * MOST_PLACES + 1
    lines = abort["command"].splitlines()
    assert len(lines) == 4 * MOST_PLACES + 1
    assert lines[-1] == "# … and more: the table consequence has every place"


def test_who_pastes_a_step_does_not_abort_what_was_not_looked_at() -> None:
    look, abort, *_ = plan(BY_NAME["late_write"], [blocked(0)._replace(transactional_id="my id")])
    assert f"\n{TOOL} describe --transactional-id='my id'" in look["command"]
    assert " abort " not in look["command"] and "describe" not in abort["command"]


def test_a_name_that_a_terminal_does_not_show_stays_on_its_line() -> None:
    waiting = WAITING._replace(group="a\n\x1b[2J'\u202eb")
    told = plan(BY_NAME["late_write"], [blocked(7, OFFSETS, "save_and_abort")], [waiting])
    (line,) = [one for one in commands(told).splitlines() if "--members" in one]
    assert "--group $'a\\x0a\\x1b[2J\\x27\\xe2\\x80\\xaeb' " in line and line.isprintable()


def test_names_are_quoted_for_a_shell() -> None:
    (step, *_) = plan(BY_NAME["late_write"], [blocked(0, "a b;c")])
    assert "--topic 'a b;c' --partition 0" in step["command"]


OFFSETS = "__consumer_offsets"
WAITING = Commit("records_blocked", "billing", "orders", 0, 5, "save_and_abort")


def text_of(steps: list[dict[str, Any]]) -> str:
    return "\n".join(str(value) for step in steps for value in step.values())


@pytest.mark.parametrize("name", ["skipped_markers", "late_write"])
def test_offsets_that_hang_are_aborted_and_then_set_and_never_written(name: str) -> None:
    may_be_committed = blocked(7, OFFSETS, "save_and_abort")
    told = plan(BY_NAME[name], [may_be_committed], [WAITING])
    stop, look, abort, after = told[:4]
    assert f"describe-producers --topic {OFFSETS} --partition 7" in look["command"]
    assert stop["command"].endswith("--group billing --describe --members")
    assert f"abort --topic {OFFSETS} --partition 7 --start-offset 480" in abort["command"]
    assert after["command"].endswith(
        "--group billing --topic orders:0 --reset-offsets --to-offset 5 --execute"
    )
    assert "no active member" in after["before"] and "is lower" in after["before"]
    assert "save its records" not in text_of(told)
    of_clients = plan(BY_NAME[name], [blocked(7)], [WAITING])
    assert "group" not in text_of(of_clients[:2]) and "save" in text_of(of_clients[:2])


def test_a_group_whose_commit_was_to_be_aborted_stays_where_it_is() -> None:
    lacking = WAITING._replace(ended_by="abort")
    told = text_of(plan(BY_NAME["skipped_markers"], [blocked(7, OFFSETS)], [lacking]))
    assert f"abort --topic {OFFSETS} --partition 7 " in told and "--to-offset" not in told


@pytest.mark.parametrize("other", ["abort", "running", "decided"])
def test_only_groups_of_what_a_step_ends_are_named_in_it(other: str) -> None:
    places = [blocked(7, OFFSETS, "save_and_abort"), blocked(8, OFFSETS, other)]
    healthy = Commit("records_blocked", "healthy", "orders", 0, 9, other)
    told = plan(BY_NAME["skipped_markers"], places, [WAITING, healthy])
    set_to = [one["command"] for one in told if "--to-offset" in (one["command"] or "")]
    assert len(set_to) == 1 and "--group billing" in set_to[0] and "healthy" not in set_to[0]
    assert ("--group healthy --describe" in commands(told)) == (other == "abort")


def test_a_group_is_set_once_to_the_furthest_of_its_commits() -> None:
    further = WAITING._replace(committed_offset=8)
    told = plan(BY_NAME["late_write"], [blocked(7, OFFSETS, "save_and_abort")], [further, WAITING])
    assert commands(told).count("--to-offset 8 ") == 1 and "--to-offset 5 " not in commands(told)


@pytest.mark.parametrize("name", ["operator_abort", "skipped_markers"])
def test_offsets_that_did_not_take_effect_are_set_and_records_are_produced_again(name: str) -> None:
    kind = "committed_records_invisible"
    lacking = Commit(kind, "billing", "orders", 0, 5)
    of_group = text_of(plan(BY_NAME[name], [Place(kind, 1, OFFSETS, 7, 0, 0)], [lacking]))
    assert "--to-offset 5" in of_group and "roduce them again" not in of_group
    assert "Produce the committed records" not in of_group
    of_client = text_of(plan(BY_NAME[name], [Place(kind, 1, "m", 7, 0, 0)]))
    assert "--to-offset" not in of_client and "Produce the" in of_client.replace("Read the", "")


def test_lost_offsets_are_set_and_lost_records_are_produced_again() -> None:
    lacking = Commit("records_lost", "billing", "orders", 0, 5)
    signature = BY_NAME["unclean_election"]
    of_group = text_of(plan(signature, [Place("records_lost", 1, OFFSETS, 7, 3, 8)], [lacking]))
    assert "--to-offset 5" in of_group
    assert "Produce the lost" not in of_group and "kafka-configs" not in of_group
    of_client = text_of(plan(signature, [Place("records_lost", 1, "u", 7, 3, 8)]))
    assert "--to-offset" not in of_client and "Produce the lost" in of_client


def test_min_insync_replicas_is_raised_only_where_the_replicas_are_told() -> None:
    steps = plan(BY_NAME["unclean_election"], [Place("records_lost", 1, "u", 0, 3, 8)])
    by_option = {
        option: step
        for step in steps
        for option in ("min.insync.replicas=2", "unclean.leader.election.enable=false")
        if option in (step["command"] or "")
    }
    assert "at least 3 replicas" in by_option["min.insync.replicas=2"]["before"]
    assert by_option["unclean.leader.election.enable=false"]["before"] is None
    assert len({id(step) for step in by_option.values()}) == 2


def test_a_leader_is_not_moved_to_a_copy_with_other_decisions() -> None:
    signature = BY_NAME["coordinator_lost_state"]
    alike = text_of(plan(signature, [], labels={"prepare_never_completed"}))
    assert "Move the leader" in alike and "do not move" not in alike
    apart = text_of(
        plan(signature, [], labels={"prepare_never_completed", "txnlog_replica_divergence"})
    )
    assert "Move the leader" not in apart and "do not move its leader" in apart


def test_no_index_is_rebuilt_before_it_is_known_that_the_marker_is_right() -> None:
    rebuilt = plan(BY_NAME["stale_replica"], [], labels={"txnindex_extra_entry"})
    assert rebuilt[0]["what"].startswith("Find out which is wrong, the txnindex or the marker")
    assert "do not rebuild it from this log" in rebuilt[0]["what"]
    other = plan(BY_NAME["stale_replica"], [], labels={"index_entry_invalid"})
    assert other == rebuilt[1:]


def test_what_a_broker_makes_anew_is_moved_with_the_file_that_makes_it_do_so() -> None:
    signature = BY_NAME["stale_replica"]
    snapshots = text_of(plan(signature, [], labels={"snapshot_state_mismatch"}))
    assert ".kafka_cleanshutdown" in snapshots and ".index file" not in snapshots
    index = text_of(plan(signature, [], labels={"txnindex_malformed"}))
    assert "away with the .index file" in index and ".snapshot files" not in index
    unread = text_of(plan(signature, [], labels={"snapshot_corrupt"}))
    assert "it drops the file" in unread and "move this" not in unread


def test_files_that_alone_know_an_outcome_are_not_rebuilt() -> None:
    for also in ("snapshot_state_mismatch", "txnindex_missing_entry"):
        labels = {"cleaned_data_without_marker", also}
        told = text_of(plan(BY_NAME["stale_replica"], [], labels=labels))
        assert "do not rebuild them" in told
        assert ".kafka_cleanshutdown" not in told and "with the .index file" not in told


def test_a_copy_is_fetched_anew_only_where_it_lacks_records() -> None:
    """A fetched copy has no index or snapshot from before the cleaner took the marker."""

    def moved(*labels: str) -> bool:
        told = text_of(plan(BY_NAME["stale_replica"], [], labels=set(labels)))
        return "move the whole folder" in told

    assert moved("replica_range_hole") and moved("offset_gap", "snapshot_corrupt")
    assert not moved("snapshot_corrupt") and not moved("index_entry_invalid")
    assert not moved("offset_gap", "cleaned_data_without_marker")


def test_copies_that_are_equal_again_are_saved_before_one_is_fetched_again() -> None:
    told = text_of(plan(BY_NAME["stale_replica"], [], labels={"replica_divergence/within"}))
    assert "KAFKA-6361" in told and "Save both folders" in told
    assert "KAFKA-6361" not in text_of(plan(BY_NAME["stale_replica"], [], labels={"offset_gap"}))


def test_a_shared_producer_id_is_left_by_new_transactional_ids_only() -> None:
    signature = BY_NAME["shared_producer_id"]
    _, new_ids = plan(signature, [], labels={"txnlog_pid_shared"})
    assert "transactional ids that were never used" in new_ids["what"]
    assert len(plan(signature, [], labels={"mixed_transactional_mode"})) == 2


@pytest.mark.parametrize(
    ("name", "label", "first"),
    [
        ("zombie_write", "zombie_write_after_fence", "Find and stop the second instance"),
        ("shared_producer_id", "txnlog_pid_shared", "Stop the producers of all these"),
        ("operator_abort", "marker_outcome_mismatch", "make sure that its producer is stopped"),
        ("coordinator_lost_state", DECISION_LOST, "Look for the copy of the"),
        ("coordinator_lost_state", FORGOTTEN, "Look for the copy of the"),
    ],
)
def test_what_an_abort_would_spoil_comes_before_it(name: str, label: str, first: str) -> None:
    """An abort cannot be taken back, and a producer that still runs opens a transaction again."""
    steps = plan(BY_NAME[name], [blocked(0, ended_by="save_and_abort")], labels={label})
    before = [step["what"] for step in steps if step["reversible"]]
    abort = next(
        number for number, step in enumerate(steps) if "abort --" in (step["command"] or "")
    )
    told = next(number for number, step in enumerate(steps) if first in step["what"])
    assert told < abort and len(before) > 1


def test_damage_in_the_only_replica_is_not_moved_away() -> None:
    damaged = Place("records_unreadable", 1, "u", 0, 4, 6)
    steps = plan(BY_NAME["damaged_disk"], [damaged])
    told = [step["what"] for step in steps]
    assert "stop their broker cleanly" in told[0]
    assert told[2].startswith("Where another replica has them")
    assert told[3].startswith("Where no other replica has them: leave the folder")
    assert "--topic u:0 --reset-offsets --to-offset 7 --execute" in steps[4]["command"]


@pytest.mark.parametrize("label", ["index_entry_invalid", "snapshot_state_mismatch"])
def test_no_index_or_snapshot_is_made_anew_where_a_batch_is_damaged(label: str) -> None:
    """A broker that makes it anew cuts the log off at the first damaged batch."""
    (anew,) = [
        step for step in plan(BY_NAME["stale_replica"], [], labels={label}) if step["before"]
    ][:1]
    assert "no finding tells of damage" in anew["before"]


def test_readers_go_back_before_lost_records_are_written_again() -> None:
    lost = Place("records_lost", None, "u", 0, 2, None)
    told = [step["what"] for step in plan(BY_NAME["unclean_election"], [lost])]
    back = next(number for number, what in enumerate(told) if "first lost offset" in what)
    again = next(number for number, what in enumerate(told) if "Produce the lost records" in what)
    assert back < again


def test_a_leader_is_moved_only_for_a_decision_that_waits() -> None:
    signature = BY_NAME["coordinator_lost_state"]
    of_another_outcome = plan(signature, [Place("committed_records_invisible", 1, "u", 0, 2, 4)],
                              labels={"marker_outcome_mismatch"})  # fmt: skip
    told = text_of(of_another_outcome)
    assert "Move the leader" not in told and "Produce the committed records" in told
    waits = text_of(plan(signature, [], labels={"prepare_never_completed"}))
    assert "KAFKA-19999" in waits and "Produce the committed records" not in waits


def test_what_consumers_got_is_mended_after_a_cut_too() -> None:
    places = [
        Place(kind, 1, "u", 0, 2, 4)
        for kind in ("aborted_records_visible", "committed_records_invisible")
    ]
    told = text_of(plan(BY_NAME["unclean_election"], places))
    assert "Correct results" in told and "Produce the committed records" in told


def test_a_setting_of_a_topic_is_told_without_a_place_of_a_consequence() -> None:
    assert "--entity-name TOPIC --add-config" in commands(plan(BY_NAME["unclean_election"], []))
