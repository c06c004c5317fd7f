"""Faults of several batches in a row: a disk or a copy lost them. Nothing else may be accused."""

from collections.abc import Callable, Iterable, Sequence

from laws.dump_files import Partition
from laws.log_batches import Batch

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


def _rewrite(
    view: View, made: Callable[[int, Batch], bytes], copies: Iterable[Partition] | None = None
) -> None:
    """Puts other bytes in place of batches, in each copy or in those; nothing else changes."""
    changed = [one for _, one in view.copies] if copies is None else list(copies)
    index = 0
    for base, inside in view.segments:
        content = b""
        for batch in inside:
            content += made(index, batch)
            index += 1
        name = f"{base:020}.log"
        for one in changed:
            if len(content) != len(one.files[name]):
                one.files[f"{base:020}.index"] = one.files[f"{base:020}.timeindex"] = b""
            one.files[name] = content


def _damaged(
    scene: Scene, views: Sequence[View], what: str = DAMAGE, last_only: bool = False
) -> Mutant | None:
    """Checksums that no longer fit; `last_only`: in one of several copies."""
    if (at := _stretch(scene, views)) is None:
        return None
    view, stretch = at

    def flipped(index: int, batch: Batch) -> bytes:
        content = bytearray(batch.content)
        content[layout.CRC] ^= 0xFF if index in stretch else 0
        return bytes(content)

    _rewrite(view, flipped, [view.copies[-1][1]] if last_only else None)
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
    _rewrite(view, lambda index, batch: b"" if index in stretch else batch.content)
    what = "offset_gap segment_missing"
    span = (before.last_offset, after.last_offset + 1)
    told = SUSPECT  # where it is all of a segment, the file may only not have been copied
    return Mutant(codes(what), places(view.place), span, told=told, wide=True, sole=True)
