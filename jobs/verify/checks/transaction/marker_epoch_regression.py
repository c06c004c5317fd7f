"""The epoch of a marker is lower than an earlier epoch of its producer.

What it finds: a COMMIT or ABORT marker with a lower producer epoch than the data it ends, or than
an earlier marker or batch of the same producer id in the partition.

Why it is wrong: the leader refuses a marker of an older epoch. If it is stored nevertheless, it
decides data of a transaction that it does not belong to.

When it is legal: the state of the producer had expired, or was lost with the head of the log. Up to
Kafka 2.4.0 a producer without data of the epoch of its last marker is forgotten soon; a marker that
ends nothing is then taken and decides nothing, unless data of its epoch follow. If the data of the
transaction have several epochs, epoch_bump_inside_open_txn reports it.

Evidence: the marker before and the marker of the lower epoch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.began_anew import begun_and_gone
from jobs.verify.conditions.forgotten import (
    forgotten_with_the_head,
    markers_may_be_forgotten,
    state_may_have_expired,
)
from jobs.verify.conditions.settled import unstable_tail
from udfs.rules.logic import surely

CHECK = Check(
    code="marker_epoch_regression",
    severity=ERROR,
    context="transaction",
    source="ProducerAppendInfo.checkProducerEpoch",
    # What lies directly before decides, so that one step down is one finding.
    fires=lambda: (
        (F.col("marker_epoch") < F.col("earlier_epoch"))
        & (
            F.col("marker_epoch")
            < F.coalesce("lowest_epoch", "previous_marker.epoch", "earlier_epoch")
        )
    ),
    excuses=(
        state_may_have_expired(),
        unstable_tail("marker_offset"),
        forgotten_with_the_head("previous_marker.offset"),
        # It lets the fenced producer in, where that goes on.
        *markers_may_be_forgotten(harmless=lambda: ~surely(F.col("epoch_goes_on"))),
        begun_and_gone(),
    ),
    expected=lambda: text("marker epoch {earlier_epoch} or higher"),
    found=lambda: text("marker epoch {marker_epoch}"),
    proofs=(
        Proof("last batch of the transaction", "last_file", "last_position", "last_length"),
        Proof(
            "the marker before",
            "previous_marker_file",
            "previous_marker_position",
            "previous_marker_length",
        ),
        Proof("the marker of the lower epoch", "marker_file", "marker_position", "marker_length"),
    ),
    message=lambda: text(
        "The {outcome} marker of producer {producer_id} at offset {marker_offset} has epoch "
        "{marker_epoch}. An earlier batch or marker of the producer has epoch {earlier_epoch}."
    ),
)
