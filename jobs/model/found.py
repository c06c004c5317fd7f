"""How a check words what it found, where a later stage needs to tell two cases apart."""

# The role of the evidence that tells which decision a finding is about.
PREPARE_RECORD = "the Prepare record"

# missing_marker_in_listed_partition: neither data nor marker are in the log.
NO_DATA = "no marker and no data of it after offset "
# Findings about a decision expect COMMIT or ABORT first.
DECIDED_COMMIT = "COMMIT"
# Open data that provably came after the end of their own transaction, whatever that was.
AFTER_THE_END = ", and after the end of their transaction"
# producer_epoch_regression, zombie_write_after_fence: a batch that is there since before.
STORED_AGAIN = ", byte for byte a batch that is in the log before"
# hanging_transaction: a coordinator has lost all that it knew of the producer.
THOUGH_COMMITTED = ", though a coordinator committed transactions of it"
# Open data about all of which ABORT is proven to be decided (`udfs.rules.ending`).
ALL_ABORTED = "; decided: ABORT"
# replica_divergence: the cleaner passed both copies, and one was offline while it did.
LACK_THEIR_MARKER = " transactions lack their marker"
LACK_THE_VALUE = " keys whose newest value only one copy has"
# replica_divergence: the first batch that differs, by leader epoch in both copies, as a pattern.
ONE_LEADER_EPOCH = r"^leader epochs (-?\d+) and \1;"
# The same: behind it both copies have equal batches, so neither ends where they part.
EQUAL_AGAIN = "; behind it they are equal again"
# hw_beyond_log_end: the offsets that no replica of the partition has.
IN_NO_REPLICA = "; no replica has offsets "
