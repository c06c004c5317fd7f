"""A marker has a lower coordinator epoch than the marker before it.

What it finds: a marker with a lower coordinator epoch than the marker of the same producer id
before it in the partition. If the coordinator's log has a later record of the transactional id
under a lower leader epoch than the marker before, a COMMIT, that one is named: no coordinator had
its epoch.

Why it is wrong: the leader refuses markers of a deposed coordinator
(TransactionCoordinatorFencedException). Two coordinators decided transactions of one producer.

When it is legal: the state of the producer had expired, or was lost with the head of the log. Up to
Kafka 2.4.0 a producer without data of the epoch of its last marker is forgotten soon; a marker that
ends nothing is then taken and decides nothing. An operator's abort may carry coordinator epoch 0
(KIP-664); it has the epoch of the data it ends.

Evidence: the marker before and the marker of the lower coordinator epoch.
"""

from dataclasses import replace

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.began_anew import marker_of_what_began_anew
from jobs.verify.conditions.forgotten import (
    forgotten_with_the_head,
    markers_may_be_forgotten,
    state_may_have_expired,
)
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import ADMIN_ABORT_POSSIBLE, Excuse, suspect


def _of_second(excuse: Excuse) -> Excuse:
    """What a leader forgot lets it take the second marker; it excuses nothing of the first."""
    return replace(excuse, when=lambda: ~F.col("previous_of_no_coordinator") & excuse.when())


CHECK = Check(
    code="coordinator_epoch_regression",
    severity=ERROR,
    context="transaction",
    source="ProducerAppendInfo.checkCoordinatorEpoch",
    place={
        "offset_first": "regression_first",
        "offset_last": "regression_last",
        "producer_epoch": "regression_epoch",
        "file": "regression_file",
        "byte_position": "regression_position",
    },
    # The marker directly before, so that one step down is one finding.
    fires=lambda: F.col("coordinator_epoch") < F.col("previous_marker.coordinator_epoch"),
    excuses=(
        unstable_tail("marker_offset"),
        *marker_of_what_began_anew(),
        *map(
            _of_second,
            (
                state_may_have_expired(),
                forgotten_with_the_head("previous_marker.offset"),
                *markers_may_be_forgotten(harmless=lambda: F.lit(True)),
            ),
        ),
        # A leader that knows the producer refuses it; one that lost its markers does not.
        suspect(
            ADMIN_ABORT_POSSIBLE,
            lambda: (
                ~F.col("previous_of_no_coordinator")
                & ~F.col("marker_commit")
                & (F.col("coordinator_epoch") == 0)
                & (F.col("marker_epoch") == F.col("highest_epoch"))
            ),
        ),
    ),
    expected=lambda: F.when(
        F.col("previous_of_no_coordinator"),
        text("coordinator epoch {highest} or lower", highest="coordinator.leader_epoch"),
    ).otherwise(
        text("coordinator epoch {before} or higher", before="previous_marker.coordinator_epoch")
    ),
    found=lambda: F.when(
        F.col("previous_of_no_coordinator"),
        text("coordinator epoch {before}", before="previous_marker.coordinator_epoch"),
    ).otherwise(text("coordinator epoch {coordinator_epoch}")),
    proofs=(
        Proof(
            "the marker before",
            "previous_marker_file",
            "previous_marker_position",
            "previous_marker_length",
        ),
        Proof(
            "the marker of the lower coordinator epoch",
            "marker_file",
            "marker_position",
            "marker_length",
        ),
    ),
    message=lambda: F.when(
        F.col("previous_of_no_coordinator"),
        text(
            "The commit marker of producer {producer_id} at offset {regression_last} has "
            "coordinator epoch {before}, but the coordinator of {transactional_id} still had "
            "leader epoch {highest} later; the marker at offset {marker_offset} has "
            "{coordinator_epoch}.",
            before="previous_marker.coordinator_epoch",
            highest="coordinator.leader_epoch",
        ),
    ).otherwise(
        text(
            "The {outcome} marker of producer {producer_id} at offset {marker_offset} has "
            "coordinator epoch {coordinator_epoch}, after a marker with coordinator epoch "
            "{before}.",
            before="previous_marker.coordinator_epoch",
        )
    ),
)
