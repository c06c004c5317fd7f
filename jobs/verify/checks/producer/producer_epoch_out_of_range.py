"""Transactional data have the last possible producer epoch.

What it finds: the first transactional data batch of a producer with epoch 32767.

Why it is suspicious: the coordinator assigns a new producer id before an id reaches this epoch. The
epoch is reserved for ending or fencing the last transaction of an id, so only markers carry it.

When it is legal: some releases let a transaction begin at 32767 and abort it (KAFKA-20090).
Producers without a transactional id may use every epoch.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from udfs.rules.producer_step import LAST_EPOCH

CHECK = Check(
    code="producer_epoch_out_of_range",
    severity=WARNING,
    context="run",
    source="TransactionMetadata.isProducerEpochExhausted",
    fires=lambda: (
        F.col("client_data")
        & F.col("transactional")
        & (F.col("producer_epoch") == LAST_EPOCH)
        & (F.coalesce("highest_data_epoch", F.lit(-1)) < LAST_EPOCH)
    ),
    excuses=(suspect(VERSION_DEPENDENT),),
    expected=lambda: F.lit("producer epoch 0 to 32766"),
    found=lambda: text("producer epoch {producer_epoch}"),
    proofs=(Proof("the first batch with this epoch"),),
    message=lambda: text(
        "Producer {producer_id} wrote transactional data with epoch 32767 at offset "
        "{first_offset}. Only markers should have this epoch."
    ),
)
