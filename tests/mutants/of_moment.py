"""Faults that are young when they are audited: no timeout has passed that would show them too.

They are made in histories of their own, whose audit takes place at the moment of the copy.
"""

from dataclasses import replace

from mutants.mutant import SUSPECT, VIOLATION, Mutant, codes, operator
from mutants.of_ends import open_partition_never_listed
from mutants.of_producers import late_data_after_marker
from mutants.scene import CLOCK_TOLERANCE_MS, Scene


@operator
def unlisted_data_before_any_timeout(scene: Scene) -> Mutant | None:
    if (mutant := open_partition_never_listed(scene)) is None:
        return None
    return replace(mutant, codes=codes("data_in_unlisted_partition"))


@operator
def late_data_before_any_timeout(scene: Scene) -> Mutant | None:
    """Clocks must tell the marker before the data from that of an earlier decision."""
    if (mutant := late_data_after_marker(scene)) is None:
        return None
    assert mutant.span is not None
    view = scene.views[mutant.places[0]]
    (marker,) = (one for one in view.batches if one.last_offset == mutant.span[0] - 1)
    decided = sorted(
        one.prepare.value.last_update_ms
        for one in scene.decisions
        if one.name in mutant.ids and view.place in one.listed
    )
    alone = len(decided) < 2 or decided[-2] < marker.max_timestamp - CLOCK_TOLERANCE_MS
    told = VIOLATION if alone else SUSPECT
    return replace(mutant, codes=codes("late_write_after_marker"), told=told)
