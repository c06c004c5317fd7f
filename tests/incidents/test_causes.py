"""Which findings have one cause: arrays of all findings, beside what each alone would say."""

from dataclasses import replace
from itertools import permutations
from typing import NamedTuple

import numpy as np
from test_signatures import TWINS

from jobs.incidents.causes import (
    GAP_MS,
    KINDS,
    MOST_OF_A_KIND,
    NO_INCIDENT,
    ArrayTraits,
    Findings,
    incidents,
    kinds,
)
from jobs.incidents.signature import FORGOTTEN, LOST, MISSING_MARKER

HANGS, OPEN_DATA, DIVERGED = (
    "hanging_transaction", "open_data_of_completed_transaction", "replica_divergence",
)  # fmt: skip
CRC, ZOMBIE = "batch_crc_mismatch", "zombie_write_after_fence"
AN_HOUR_MS = 3_600_000


class One(NamedTuple):
    """A finding; `places`: (topic partition, first offset) of each of its places."""

    label: str
    at: int = -1
    places: tuple[tuple[int, int], ...] = ((0, 0),)
    producer: int = -1
    broker: int = 1
    violation: bool = True


def findings(*given: One) -> Findings:
    rows = [(number, *place) for number, one in enumerate(given) for place in one.places]
    finding, place, offset = np.array(rows, dtype=np.int64).T
    violation = np.array([one.violation for one in given])
    return Findings(
        np.array([one.label for one in given]), violation, violation,
        *[np.array([getattr(one, name) for one in given]) for name in ("producer", "broker", "at")],
        finding, place, offset, offset,
    )  # fmt: skip


def numbers(*given: One) -> list[int]:
    made = findings(*given)
    return incidents(made, kinds(made)).tolist()


def test_all_at_once_are_explained_as_each_alone() -> None:
    given: list[One] = []
    own = []
    for number, (_, code, here, producer) in enumerate(TWINS):
        own.append(len(given))
        given.append(One(code, places=((2 * number, 0),), producer=number))
        for other in sorted(here | producer):
            place = 2 * number if other in here else 2 * number + 1
            owner = number if other in producer else -1
            given.append(One(other, places=((place, 0),), producer=owner))
    kind = kinds(findings(*given))
    assert [KINDS[kind[at]] for at in own] == [kind for kind, *_ in TWINS]


def test_a_fault_of_the_partition_and_one_of_the_producer_elsewhere_are_not_the_same() -> None:
    mismatch = One("marker_outcome_mismatch", producer=2, at=AN_HOUR_MS)
    of_another = One(MISSING_MARKER, producer=1, at=AN_HOUR_MS)
    elsewhere = One(MISSING_MARKER, producer=2, places=((1, 0),), at=0)
    kind = kinds(findings(mismatch, of_another, elsewhere))
    assert KINDS[kind[0]] == "coordinator_lost_state"
    own = One(MISSING_MARKER, producer=2, at=0)
    assert KINDS[kinds(findings(mismatch, own))[0]] == "skipped_markers"


def test_late_data_are_late_beside_a_marker_that_was_skipped_in_another_partition() -> None:
    late = One("late_write_after_marker", producer=2, at=AN_HOUR_MS)
    skipped = One(MISSING_MARKER, producer=2, places=((1, 0),), at=AN_HOUR_MS)
    assert [KINDS[one] for one in kinds(findings(late, skipped))] == [
        "late_write", "skipped_markers",
    ]  # fmt: skip


def test_a_finding_contains_another_of_its_producer_that_begins_in_its_range() -> None:
    draw = np.random.default_rng(7)
    for _ in range(100):
        some = [
            One(
                str(draw.choice([ZOMBIE, HANGS])),
                places=((int(draw.integers(2)), int(draw.integers(9))),),
                producer=int(draw.integers(-1, 2)),
                violation=bool(draw.integers(4)),
            )
            for _ in range(8)
        ]
        made = findings(*some)
        made = replace(made, row_last=made.row_offset + draw.integers(0, 4, 8))
        begun = [
            any(
                other.label == ZOMBIE
                and other.violation
                and (other.places[0][0], other.producer) == (one.places[0][0], one.producer)
                and one.places[0][1] <= other.places[0][1] <= last
                for other in some
            )
            and one.producer >= 0
            for one, last in zip(some, made.row_last, strict=True)
        ]
        assert ArrayTraits(made).contains(ZOMBIE).tolist() == begun


def test_a_zombie_explains_what_its_own_data_leave_open_and_nothing_else() -> None:
    zombie = One(ZOMBIE, producer=1, places=((0, 5),))
    own, later = (One(HANGS, producer=1, places=((0, at),)) for at in (5, 900))
    forgotten = One(FORGOTTEN, producer=1, places=((0, 5),))
    kind = kinds(findings(zombie, own, later, forgotten))
    assert [KINDS[one] for one in kind] == [
        "zombie_write", "zombie_write", "late_write", "coordinator_lost_state",
    ]  # fmt: skip


def test_a_finding_that_proves_nothing_is_no_evidence_beside_another() -> None:
    made = findings(One(HANGS), One(DIVERGED, violation=False))
    assert KINDS[kinds(made)[0]] == "late_write"


def test_two_elections_are_two_incidents_and_one_over_many_partitions_is_one() -> None:
    first = [One(LOST, at=1_000 + n, places=((n, 10 * n),)) for n in range(20)]
    second = [One(LOST, at=AN_HOUR_MS + n, places=((n, 5_000),)) for n in range(5)]
    assert numbers(*first) == [1] * 20
    assert numbers(*first, *second) == [1] * 20 + [2] * 5


def test_moments_that_follow_each_other_are_one_cause_however_long_it_goes_on() -> None:
    assert numbers(*[One(HANGS, at=n * GAP_MS) for n in range(30)]) == [1] * 30
    assert len(set(numbers(One(HANGS, at=0), One(HANGS, at=GAP_MS + 1)))) == 2


def test_what_is_lost_from_one_offset_on_is_one_cut_whenever_it_was_decided() -> None:
    def lost(at: int, *places: tuple[int, int]) -> One:
        return One(LOST, at=at * AN_HOUR_MS, places=places)

    assert numbers(lost(0, (0, 3)), lost(1, (0, 3)), lost(5, (0, 3))) == [1] * 3
    # The cuts of one election in two partitions, joined by a transaction that is lost in both.
    both = lost(1, (0, 3), (1, 8))
    assert numbers(lost(0, (0, 3)), both, lost(2, (1, 8)), lost(9, (1, 9))) == [1, 1, 1, 2]
    assert len(set(numbers(lost(0, (0, 3)), lost(1, (0, 4))))) == 2


def test_what_another_partition_lost_long_ago_says_nothing_of_late_data() -> None:
    lost = One(LOST, at=0, places=((0, 3),), producer=5)
    late = One(HANGS, at=AN_HOUR_MS, places=((1, 9),), producer=5)
    assert [KINDS[kind] for kind in kinds(findings(lost, late))] == [
        "unclean_election", "late_write",
    ]  # fmt: skip
    for near in (late._replace(at=1_000), late._replace(at=-1), late._replace(places=((0, 9),))):
        assert KINDS[kinds(findings(lost, near))[1]] != "late_write"


def test_two_transactions_that_hang_an_hour_apart_are_two_incidents() -> None:
    one = One(HANGS, at=0, producer=5)
    assert len({*numbers(one, One(HANGS, at=AN_HOUR_MS, places=((1, 0),), producer=6))}) == 2
    assert len({*numbers(one, One(HANGS, at=1_000, places=((1, 0),), producer=6))}) == 1


def test_undated_findings_go_with_the_nearest_of_their_partition_or_of_their_producer() -> None:
    early = One(LOST, at=0, places=((0, 100),), producer=1)
    late = One(LOST, at=AN_HOUR_MS, places=((0, 900),), producer=2)
    near_early = One(DIVERGED, places=((0, 101),))
    near_late = One(DIVERGED, places=((7, 0), (0, 880)))
    elsewhere = One(LOST, places=((5, 0),), producer=2)
    alone = One(LOST, places=((6, 0),), producer=9)
    found = numbers(early, late, near_early, near_late, elsewhere, alone, early)
    assert found[2] == found[0] == found[6] != found[1] == found[3] == found[4]
    assert found[5] == found[0]


def test_where_undated_findings_go_does_not_depend_on_the_order_of_rows() -> None:
    early = One(HANGS, at=0, places=((0, 100),), producer=1)
    late = One(HANGS, at=AN_HOUR_MS, places=((0, 100),), producer=1)
    of_producer = One(HANGS, places=((5, 0),), producer=1)
    beside, in_front = One(HANGS, places=((0, 107),)), One(HANGS, places=((0, 93),))
    given = (early, late, of_producer, beside, in_front)
    for turn in permutations(range(len(given))):
        found = dict(zip(turn, numbers(*[given[one] for one in turn]), strict=True))
        assert found[0] == found[2] == found[3] == found[4] != found[1], turn


def test_brokers_and_producers_have_incidents_of_their_own_where_the_signature_says_so() -> None:
    assert len({*numbers(One(CRC, broker=1), One(CRC, broker=2), One(CRC, broker=2))}) == 2
    assert len({*numbers(One(ZOMBIE, producer=1), One(ZOMBIE, producer=2))}) == 2


def test_of_as_many_violations_the_cause_that_shows_in_more_places_comes_first() -> None:
    here, everywhere = One(CRC), One(ZOMBIE, producer=1, places=((1, 0), (2, 0), (3, 0)))
    assert numbers(here, everywhere) == [2, 1]
    assert numbers(here, here, everywhere) == [1, 1, 2]


def test_most_violations_come_first_and_what_nothing_explains_last() -> None:
    unexplained = [One("lso_stuck")] * 3
    assert numbers(*unexplained, One(CRC), One(CRC), One(ZOMBIE)) == [3, 3, 3, 1, 1, 2]


def test_without_a_violation_there_is_no_incident() -> None:
    assert numbers(One(HANGS, violation=False)) == [NO_INCIDENT]
    assert numbers(One(CRC), One(HANGS, violation=False)) == [1, NO_INCIDENT]


def test_incidents_of_a_kind_are_bounded_and_the_smallest_are_together() -> None:
    many = [One(ZOMBIE, producer=n) for n in range(3 * MOST_OF_A_KIND)]
    found = numbers(*many, One(ZOMBIE, producer=77))
    assert len(set(found)) == MOST_OF_A_KIND
    assert found.count(found[77]) == 2


def test_an_index_that_lacks_other_aborts_is_no_witness_of_a_changed_marker() -> None:
    mismatch, lacks = "marker_outcome_mismatch", "txnindex_missing_entry"
    commits = One("offset_commit_outcome_mismatch", places=((7, 1),), producer=5)
    told = (One(mismatch, places=((0, 9),), producer=5), One(lacks, places=((0, 9),), producer=5))
    kind = kinds(findings(*told, commits))
    assert {KINDS[one] for one in kind} == {"changed_marker"}
    twice = (*told, One(mismatch, places=((0, 20),)), One(lacks, places=((0, 20),)))
    assert {KINDS[one] for one in kinds(findings(*twice))} == {"changed_marker"}
    lost = findings(*told, commits, One(lacks, places=((0, 30),), producer=6))
    assert "changed_marker" not in {KINDS[one] for one in kinds(lost)}


def test_offsets_of_another_producer_do_not_follow_from_a_changed_marker() -> None:
    marker = (
        One("marker_outcome_mismatch", places=((0, 9),), producer=5),
        One("txnindex_extra_entry", places=((0, 9),), producer=5),
    )
    other = One("offset_commit_outcome_mismatch", places=((7, 1),), producer=6)
    kind = kinds(findings(*marker, other))
    assert [KINDS[one] for one in kind] == [*["changed_marker"] * 2, "offset_commits"]
