"""A marker has another outcome on disk than when the broker appended it.

What it looks like: a marker that contradicts its decision, and the `.txnindex` of its segment
contradicts it, too: an entry for a marker that is a COMMIT, or none for one that is an ABORT. Or
another replica has another marker there, of the same leader epoch. The offsets that a group
committed in the same transaction have the decided outcome.

Why: a broker appends the entry of the index with the ABORT marker (UnifiedLog.append), and a
follower stores the bytes of its leader. The index or the other replica agrees with the coordinator,
so the bytes of the marker were changed after that, with a right checksum: by a tool, a script or a
copy that was edited.

Evidence: the marker, the Prepare record, and the entry of the index, or the marker of the other
replica. An entry proves that the marker was an ABORT; that there is none only agrees with a COMMIT.

Look-alikes: an index that was lost, as a whole or in part: it lacks other aborted transactions of
the partition as well, and tells nothing. An operator's abort, or a coordinator that lost its state:
there the index agrees with the marker. A damaged disk: there the checksum is wrong.

Known bug: none.
"""

from typing import Any

from jobs.incidents.offset_steps import correct_groups
from jobs.incidents.outcome_steps import INVISIBLE, VISIBLE
from jobs.incidents.signature import (
    DIVERGED_ALIKE,
    EXTRA_ENTRY,
    INDEXED_OUTCOME,
    LACKS_ENTRY,
    Signature,
    Step,
    Traits,
)

# That the marker has not the outcome of its decision.
CONTRADICTED = (
    "marker_outcome_mismatch", "torn_transaction", "epoch_committed_and_aborted",
    "conflicting_markers",
)  # fmt: skip
OF_MARKER = (*CONTRADICTED, *INDEXED_OUTCOME, DIVERGED_ALIKE)
FOLLOWS = ("offset_commit_outcome_mismatch",)


def _changed(finding: Traits) -> Any:
    """Whether the finding is about a marker that contradicts its decision and its index.

    Or another replica, as no coordinator makes replicas differ, and a recovery of the log makes
    the index anew from the marker that is there. An index that lacks another ABORT marker, whose
    decision nothing contradicts, is no witness.
    """
    lacks = finding.at_marker(LACKS_ENTRY) & ~finding.beside_without(LACKS_ENTRY, CONTRADICTED)
    witness = finding.at_marker(EXTRA_ENTRY, DIVERGED_ALIKE) | lacks
    return finding.at_marker(*CONTRADICTED) & witness


SIGNATURE = Signature(
    name="changed_marker",
    title="The outcome of a marker was changed on disk",
    why="The coordinator agrees with the transaction index, or with another replica. Only "
    "the marker differs.",
    explains=lambda finding: (
        (finding.one_of(*OF_MARKER) & _changed(finding))
        | (finding.one_of(*FOLLOWS) & finding.same_producer(_changed(finding)))
    ),
    proven_by=(EXTRA_ENTRY,),
    steps=(
        Step(
            "Do not rebuild the transaction index of this partition, and keep a copy of the "
            "folder: the index still has the decided outcome. A rebuilt one has that of the "
            "marker. But an index without any entry may have been lost: then it tells nothing",
            where=INDEXED_OUTCOME,
        ),
        Step(
            "Compare the marker with the same offset of every other replica, and with the Prepare "
            "record. The copies whose marker differs from the Prepare record are wrong",
            check="it is known which replicas have the decided outcome",
        ),
        Step(
            "Where another replica has the right marker: make that replica the leader. Then stop "
            "each broker whose marker is wrong, move its whole folder of the partition away (keep "
            "it), and start the broker. It fetches the log from the leader",
            before="a replica with the right marker is in sync and leads",
            check="an audit of a new dump has no finding at this marker",
            cannot="records that only the moved folder has",
            reversible=False,
            where=(DIVERGED_ALIKE,),
        ),
        Step(
            "Where no replica has the right marker: Kafka has no tool that puts it back. Do not "
            "delete the folder of a replica while its index is the last that has the decided "
            "outcome. Restore the partition from a backup, or produce the records anew",
            cannot="the right marker, if no replica and no backup has it",
            unless=(DIVERGED_ALIKE,),
        ),
        Step(
            "In __consumer_offsets: a group coordinator goes by the markers when it loads the "
            "partition, and not by the index. Where no replica has the right marker, set the "
            "groups before a broker loads it again: before a restart, or a change of the leader",
            of=(INVISIBLE, VISIBLE),
            offsets=True,
        ),
        *correct_groups(INVISIBLE, VISIBLE),
        Step(
            "Compare what consumers received. As long as the index is the old one, read_committed "
            "consumers get the decided outcome of this transaction. But behind an ABORT that was "
            "made a COMMIT they also skip later records of its producer in the same fetch "
            "response, up to its next ABORT (CompletedFetch). A consumer of a broker whose index "
            "was rebuilt gets the wrong outcome",
            where=INDEXED_OUTCOME,
        ),
    ),
)
