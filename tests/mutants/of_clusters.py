"""Faults of the whole dump, each alone in its audit: another cluster, a log that is missing."""

from laws.dump_files import META, METADATA
from laws.log_batches import batches
from log_builder import LogBuilder

from mutants.evidence import raises
from mutants.mutant import Mutant, codes, operator, pids, places
from mutants.scene import Scene, marker_with, moved


@operator
def other_cluster(scene: Scene) -> Mutant | None:
    """One of the directories is of another cluster."""
    directory = scene.choose([one for one in scene.directories if META in one.files])
    if directory is None:
        return None
    lines = [
        "cluster.id=somewhere-else" if line.startswith("cluster.id") else line
        for line in directory.files[META].decode().splitlines()
    ]
    directory.files[META] = "\n".join(lines).encode()
    return Mutant(
        codes("cluster_id_mismatch"), tuple(scene.views), None, wide=True,
        brokers=frozenset([int(directory.broker())]),
    )  # fmt: skip


@operator
def producer_ids_given_twice(scene: Scene) -> Mutant | None:
    """The controller gives out a block of producer ids again."""
    found = [one for told in scene.directories for one in told.partitions if one.topic == METADATA]
    if not found:
        return None
    (metadata,) = found
    name = f"{metadata.bases()[-1]:020}.log"
    end = max(batch.last_offset for batch in batches(metadata.files[name])) + 1
    block = LogBuilder()
    block.add(f"ids {scene.rng.randrange(1_000, 2_000)}")
    (again,) = (bytes(content) for content in block.segments.values())
    metadata.files[name] += moved(again, end)
    return Mutant(codes("producer_block_regression"), ((METADATA, 0),), (end, end), wide=True)


@operator
def outcome_torn_without_log(scene: Scene) -> Mutant | None:
    """A transaction is committed here and aborted there, and the coordinator's log is lost."""
    found = [
        (one, [at for at in one.markers.values() if raises(one, *at) and at[0] in scene.client])
        for one in scene.decisions
    ]
    at = scene.choose([(one, markers) for one, markers in found if len(markers) > 1 and one.second])
    if at is None:
        return None
    one, markers = at
    view, txn = scene.choose(markers)
    view.put(txn.marker, marker_with(view.batches[txn.marker], commit=not one.commit))
    view.store()
    for log in scene.coordinators:
        for _, copy in log.copies:
            copy.files.clear()
    return Mutant(
        codes("epoch_committed_and_aborted"),
        places(view.place, [*one.listed, *(log.place for log in scene.coordinators)]),
        pids=pids(txn.producer_id), ids=frozenset([one.name]), span=(-1, -1),
    )  # fmt: skip
