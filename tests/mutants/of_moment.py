"""Faults that are young when they are audited: no timeout has passed that would show them too.

They are made in histories of their own, whose audit takes place at the moment of the copy.
"""

from dataclasses import replace
from itertools import takewhile

from laws.log_batches import Batch

from mutants.mutant import SUSPECT, VIOLATION, Mutant, codes, operator
from mutants.of_ends import open_partition_never_listed
from mutants.of_producers import late_data_after_marker
from mutants.scene import CLOCK_TOLERANCE_MS, Scene, View


def _late(scene: Scene, mutant: Mutant, view: View, marker: Batch) -> Mutant:
    """Data behind the marker of their epoch; clocks must tell it from an earlier decision's."""
    decided = sorted(
        one.prepare.value.last_update_ms
        for one in scene.decisions
        if one.name in mutant.ids and view.place in one.listed
    )
    alone = len(decided) < 2 or decided[-2] < marker.max_timestamp - CLOCK_TOLERANCE_MS
    told = VIOLATION if alone else SUSPECT
    return replace(mutant, codes=codes("late_write_after_marker"), told=told)


def _before(mutant: Mutant, view: View) -> tuple[list[Batch], Batch]:
    """What the producer wrote before the data of a mutant, and the first of these."""
    assert mutant.span is not None
    mine = [one for one in view.batches if one.producer_id in mutant.pids]
    before = [one for one in mine if one.base_offset < mutant.span[0]]
    return before, mine[len(before)]


@operator
def unlisted_data_before_any_timeout(scene: Scene) -> Mutant | None:
    """Data behind a marker of their epoch may be late data of the transaction that it ended.

    Unless that marker raised the epoch of its own data (version 2).
    """
    if (mutant := open_partition_never_listed(scene)) is None:
        return None
    view = scene.views[mutant.places[0]]
    before, first = _before(mutant, view)
    if before and before[-1].control and before[-1].producer_epoch == first.producer_epoch:
        ended = list(takewhile(lambda one: not one.control, reversed(before[:-1])))
        if all(one.producer_epoch == first.producer_epoch for one in ended):
            return _late(scene, mutant, view, before[-1])
    return replace(mutant, codes=codes("data_in_unlisted_partition"))


@operator
def late_data_before_any_timeout(scene: Scene) -> Mutant | None:
    if (mutant := late_data_after_marker(scene)) is None:
        return None
    view = scene.views[mutant.places[0]]
    before, _ = _before(mutant, view)
    return _late(scene, mutant, view, before[-1])
