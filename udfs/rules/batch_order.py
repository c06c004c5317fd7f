"""How the batches of a log follow each other.

A leader gives out offsets without a gap and stamps its epoch on each batch (`UnifiedLog.append`); a
follower refuses a batch whose offsets go back (`OffsetsOutOfOrderException`) and truncates what is
not of its leader's history (`LeaderEpochFileCache`). So offsets rise from batch to batch, and
leader epochs never fall; -1 is none (message formats before 2). That offsets are missing is asked
of `udfs.rules.absence`.

What cannot be known: of two batches that overlap, which one consumers were given.
"""

from udfs.rules.logic import Values


def goes_back(last_before: Values, base_offset: Values) -> Values:
    """Whether a batch begins at or below the last offset of the one before it."""
    return base_offset <= last_before


def leader_epoch_fell(epoch_before: Values, epoch: Values) -> Values:
    """Whether a batch has a lower leader epoch than the one before it; one of -1 has none."""
    return (epoch >= 0) & (epoch < epoch_before)
