"""Faults of several batches in a row: a disk or a copy lost them. Nothing else may be accused."""

from collections.abc import Sequence

from mutants.mutant import SUSPECT, Mutant, codes, operator, places
from mutants.of_batches import DAMAGE
from mutants.scene import Scene, View
from udfs.wire.batches import batch_layout as layout

LONGEST = 8


def _stretch(scene: Scene, views: Sequence[View]) -> tuple[View, range] | None:
    """Up to LONGEST batches of a whole partition, of any segments, which all copies have."""
    found = [
        view
        for view in views
        if view.whole
        and len(view.batches) > LONGEST
        and all(one.bases() == view.partition.bases() for _, one in view.copies)
    ]
    if (view := scene.choose(found)) is None:
        return None
    number = scene.rng.randint(2, LONGEST)
    first = scene.rng.randrange(1, len(view.batches) - number + 1)
    return view, range(first, first + number)


def _damaged(
    scene: Scene, views: Sequence[View], what: str = DAMAGE, last_only: bool = False
) -> Mutant | None:
    """Checksums that no longer fit; `last_only`: in one of several copies."""
    if (at := _stretch(scene, views)) is None:
        return None
    view, stretch = at

    contents = {}
    for index in stretch:
        content = bytearray(view.batches[index].content)
        content[layout.CRC] ^= 0xFF
        contents[index] = bytes(content)
    view.overwrite(contents, [view.copies[-1][1]] if last_only else None)
    span = (view.batches[stretch[0]].base_offset, view.batches[stretch[-1]].last_offset)
    return Mutant(codes(what), places(view.place), span, wide=True, sole=True)


@operator
def stretch_damaged(scene: Scene) -> Mutant | None:
    return _damaged(scene, scene.client)


@operator
def stretch_of_a_replica_damaged(scene: Scene) -> Mutant | None:
    """The other copy has what lies there."""
    several = [view for view in scene.views.values() if len(view.copies) > 1]
    what = DAMAGE + " replica_divergence replica_range_hole"
    return _damaged(scene, several, what, last_only=True)


@operator
def stretch_of_offsets_damaged(scene: Scene) -> Mutant | None:
    return _damaged(scene, scene.groups)


@operator
def stretch_of_states_damaged(scene: Scene) -> Mutant | None:
    return _damaged(scene, scene.coordinators)


@operator
def stretch_lost(scene: Scene) -> Mutant | None:
    """Batches are not in the copy, as if nobody had ever written them."""
    if (at := _stretch(scene, scene.client)) is None:
        return None
    view, stretch = at
    before, after = view.batches[stretch[0] - 1], view.batches[stretch[-1]]
    view.overwrite(dict.fromkeys(stretch, b""))
    what = "offset_gap segment_missing"
    span = (before.last_offset, after.last_offset + 1)
    told = SUSPECT  # where it is all of a segment, the file may only not have been copied
    return Mutant(codes(what), places(view.place), span, told=told, wide=True, sole=True)
