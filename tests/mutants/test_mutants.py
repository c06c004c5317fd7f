"""Each operator makes a fault and tells of it; a seeded slice of `make mutants` and the model."""

import os
from itertools import chain
from random import Random

import pytest
from laws.dump_files import OFFSETS, TXN_LOG, Dump
from model.fetched import fetched
from model.world import World, metadata_of
from pyspark.sql import SparkSession
from rechecked import Rechecked

from jobs.verify.catalogue import CHECKS
from mutants.evidence import MADE_SINCE, may_be_running
from mutants.judge import Result
from mutants.mutant import OPERATORS, Mutant
from mutants.run import Chooser, audited, groups, judge, of_model, owned, plan_of
from mutants.scene import Scene

SEED = "slice.1"
LEGAL, MUTATED = 12, 66
WORLDS = 40


def scene(name: str, index: int) -> Scene:
    world = World(f"{name} {index}", plan_of(index), 0, 3)
    total = {TXN_LOG: 3, OFFSETS: 3}
    directories = list(world.directories())
    directories[0].partitions.append(metadata_of([1, 1, 1]))
    if name in groups([name]).answers:
        directories = fetched(world)
    return Scene(directories, total, Random(f"{name} {index}"))


def batches_of(one: Scene) -> list[bytes]:
    """All batches as the scene holds them, in order."""
    return [batch.content for view in one.views.values() for batch in view.batches]


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_changes_what_it_says(name: str) -> None:
    known = {check.code for check in CHECKS}
    for index in range(WORLDS):
        one = scene(name, index)
        before, held = Dump(one.directories).copy(), batches_of(one)
        mutant = OPERATORS[name](one)
        # What it left changed would be stored by the operator that is tried next.
        assert mutant is not None or batches_of(one) == held
        if mutant is not None:
            changed = {
                copy.place
                for (_, copy), (_, old) in zip(
                    Dump(one.directories).copies(), before.copies(), strict=True
                )
                if copy.files != old.files
            }
            assert mutant.codes <= known
            assert changed <= set(mutant.places)
            assert Dump(one.directories) != before
            return
    pytest.fail(f"{name}: no place in {WORLDS} histories")


def test_a_seed_makes_the_same_mutants_again() -> None:
    twice = [of_model("twice", 20, Chooser(groups(sorted(OPERATORS)).logs)) for _ in range(2)]
    assert twice[0] == twice[1]


def made(name: str) -> list[Mutant]:
    mutants = (OPERATORS[name](scene(name, index)) for index in range(30))
    return [one for one in mutants if one is not None]


def test_a_partition_that_nothing_shows_to_be_older_owes_no_marker() -> None:
    assert {one.why for one in made("partition_listed_too_many")} == {"", MADE_SINCE}


def test_an_abort_that_was_decided_elsewhere_names_a_commit_that_became_one() -> None:
    code = "marker_in_unlisted_partition"
    told = {code in one.codes for one in made("committed_offsets_dropped") if one.decidable}
    assert told == {True, False}


def test_late_data_may_be_those_of_the_running_transaction() -> None:
    told = set()
    for index in range(30):
        one = scene("late_data_after_marker", index)
        pairs = [(x, one.views[place]) for x in one.decisions for place in x.listed]
        told |= {bool(may_be_running(one, *pair)) for pair in pairs}
    assert told == {True, False}


def test_the_owner_of_a_producer_may_be_named_in_the_log_of_another_history() -> None:
    dump, (one, *_), _ = of_model("owned", 3, Chooser(["batch_lost_with_gap"]))
    told = []
    for moment in (-1, 0, 1 << 50):
        one.owned_by, one.why = moment, ""
        owned(dump, [one])
        told.append(one.decidable)
    assert told == [True, True, False]


@pytest.mark.skipif(
    "EOSAUDIT_MUTANTS" not in os.environ, reason="takes minutes: EOSAUDIT_MUTANTS=1 (docs/trust.md)"
)
@pytest.mark.spark
@pytest.mark.slow
def test_mutants_are_named_and_no_bystander_is_accused(spark: SparkSession) -> None:
    chooser = Chooser(groups(sorted(OPERATORS)).logs, LEGAL)
    dump, mutants, moment = of_model(SEED, LEGAL + MUTATED, chooser)
    result, rechecked = Result(), Rechecked()
    found = audited(spark, dump, moment, {TXN_LOG: 1, OFFSETS: 1})
    judge(result, SEED, mutants, found)
    rechecked.take(SEED, chain.from_iterable(found.values()))
    assert rechecked.refuted == []
    assert result.accused == []
    assert result.survivors == []
    assert result.number == len(mutants) > MUTATED // 2
