"""Faults of the cleaner: what it passed although it may not, and what it left behind."""

from laws.dump_files import CLEANER

from mutants.evidence import completed_at, goes_on
from mutants.mutant import SUSPECT, Mutant, codes, operator, pids, places
from mutants.scene import Decision, Scene, Txn, View, transactions


def _pass(view: View, upto: int) -> None:
    """The cleaner says that it passed all below an offset."""
    for directory, _ in view.copies:
        directory.put(CLEANER, view.place, upto)


@operator
def cleaner_passed_open_data(scene: Scene) -> Mutant | None:
    """The cleaner stops at the last stable offset, and here it did not.

    It passes one open transaction: each that it passes is a finding of its own.
    """
    found = []
    for view in scene.client:
        opened = [
            (view.batches[txn.data[0]].base_offset, txn)
            for txn in (transactions(view) if view.whole else [])
            if txn.marker is None
        ]
        for base, _ in view.segments:
            passed = [txn for first, txn in opened if first < base]
            found += [(view, txn, base) for txn in passed if len(passed) == 1]
    if (at := scene.choose(found)) is None:
        return None
    view, txn, base = at
    _pass(view, base)
    span = (view.batches[txn.data[0]].base_offset, view.batches[txn.data[-1]].last_offset)
    return Mutant(
        codes("cleaned_data_without_marker"), places(view.place), span, pids(txn.producer_id)
    )


@operator
def cleaner_left_aborted_data(scene: Scene) -> Mutant | None:
    """The cleaner passed an aborted transaction, and its records are all there."""
    found = []
    for view in scene.client:
        if not view.whole:
            continue
        txns = transactions(view)
        opened = [view.batches[txn.data[0]].base_offset for txn in txns if txn.marker is None]
        found += [
            (view, txn, base)
            for txn in txns
            for base, _ in view.segments
            if txn.marker is not None
            and txn.data
            and view.batches[txn.marker].commit is False
            and view.batches[txn.marker].base_offset < base <= min(opened, default=view.end)
        ]
    if (at := scene.choose(found)) is None:
        return None
    view, txn, base = at
    _pass(view, base)
    assert txn.marker is not None
    span = (view.batches[txn.data[0]].base_offset, view.batches[txn.marker].base_offset)
    return Mutant(
        codes("aborted_data_below_cleaned_bound"), places(view.place), span,
        pids(txn.producer_id), told=SUSPECT,
    )  # fmt: skip


def _compacted(view: View) -> None:
    """One pass over all closed segments: of each id only its newest record in them is left."""
    kept = {states[-1].index for states in Scene.states(_closed(view)).values()}
    for index in range(len(_closed(view).batches) - 1, -1, -1):
        if index not in kept:
            view.drop(index, close=False)
    view.store()
    _pass(view, view.segments[-1][0])


def _closed(view: View) -> View:
    """The partition without its active segment."""
    closed = View(view.copies)
    closed.segments = closed.segments[:-1]
    return closed


@operator
def marker_lost_and_log_compacted(scene: Scene) -> Mutant | None:
    """A marker was never written, and only the last record of the id is left to show it."""

    def wanted(one: Decision, view: View, txn: Txn) -> bool:
        behind = view.batches[(txn.marker or 0) + 1 :]
        active = one.view.at(one.complete.index)[0] == len(one.view.segments) - 1
        return (
            bool(txn.data)
            and one.following is None
            and not active
            and one.prepare.value.producer_epoch > view.batches[txn.data[-1]].producer_epoch
            and not any(batch.producer_id == txn.producer_id for batch in behind)
        )

    found = scene.decided(lambda *at: at[0].complete is not None and wanted(*at))
    if found is None:
        return None
    one, view, txn = found
    assert txn.marker is not None
    span = (view.batches[txn.data[0]].base_offset, view.batches[txn.data[-1]].last_offset)
    late = goes_on(view, completed_at(one), txn.marker)
    view.drop(txn.marker, close=True)
    view.store()
    _compacted(one.view)
    return Mutant(
        codes("""open_data_of_completed_transaction missing_marker_in_listed_partition
            hanging_transaction"""),
        places(view.place, [one.view.place]), span, pids(txn.producer_id), frozenset([one.name]),
        why="" if late else "the copy of the partition may end before the marker",
    )  # fmt: skip
