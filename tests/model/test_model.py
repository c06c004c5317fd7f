"""The model itself: the same seed makes the same bytes, and its logs keep a broker's rules."""

from laws.logs import all_batches
from mutants.scene import View, transactions

from model.log import Log
from model.world import Plan, World

PLAN = Plan(ids=5, transactions=12, copies=2)


def views(world: World) -> list[View]:
    """Each partition, in all its copies."""
    first, second = world.directories()
    others = {one.place: one for one in second.partitions}
    return [
        View(
            [(first, one), *[(second, others[place]) for place in (one.place,) if place in others]]
        )
        for one in first.partitions
    ]


def test_a_seed_makes_the_same_bytes_again() -> None:
    assert list(World(7, PLAN).directories()) == list(World(7, PLAN).directories())
    assert list(World(7, PLAN).directories()) != list(World(8, PLAN).directories())


def test_offsets_have_no_gap_and_all_is_replicated() -> None:
    for view in views(World(1, PLAN)):
        assert view.whole, view.place
        assert len(view.segments) > 1 or view.end < 100


def test_side_files_are_those_of_the_log() -> None:
    """A second way to them: the edits of mutants make them anew from the bytes."""
    for seed in range(5):
        for view in views(World(seed, PLAN)):
            before = dict(view.partition.files)
            view.store()
            after = view.partition.files
            for name, content in before.items():
                if not name.endswith((".index", ".timeindex")):
                    assert after[name] == content, (view.place, name)


def visible(log: Log, view: View) -> list[int]:
    """Offsets of a read_committed consumer, from transactions of the bytes."""
    batches = all_batches(view.partition)
    stable = min(
        [batches[txn.data[0]].base_offset for txn in transactions(view) if txn.marker is None],
        default=log.end,
    )
    hidden = {
        index
        for txn in transactions(view)
        for index in txn.data
        if txn.marker is None or not batches[txn.marker].commit
    }
    return [
        offset
        for index, batch in enumerate(batches)
        if not batch.control and index not in hidden and batch.base_offset < stable
        for offset in range(batch.base_offset, batch.last_offset + 1)
    ]


def test_what_consumers_get_follows_from_the_bytes() -> None:
    for seed in range(5):
        world = World(seed, PLAN)
        by_place = {view.place: view for view in views(world)}
        for log in world.topics:
            assert log.committed() == visible(log, by_place[log.place])


def test_it_does_what_real_clients_do() -> None:
    """Open transactions, fences, all versions and several leader epochs occur within a few."""
    worlds = [World(seed, Plan(leader_changes=0.05)) for seed in range(10)]
    logs = [log for world in worlds for log in world.topics]
    assert any(log.stable < log.end for log in logs)
    assert any(log.leader_epoch > 0 for log in logs)
    assert any(one.aborted for log in logs for one in log.segments)
    epochs = {state.producer_epoch for log in logs for state in log.states.values()}
    assert {0, 1, 2} <= epochs
