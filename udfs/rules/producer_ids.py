"""Blocks of producer ids, as the controller gives them to brokers."""

import numpy as np

from udfs.rules.logic import Values, clipped

# ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE, all releases: so many producer ids a broker gets at once.
BLOCK_SIZE = 1_000
LONGS = np.iinfo(np.int64)


def overlaps_block_before(previous_next: Values, next_producer_id: Values) -> Values:
    """Whether the block in front of `next_producer_id` has ids below `previous_next`.

    `ProducerIdControlManager.generateNextProducerId` (3.0 and later) adds a block to what the
    newest record says, and the next record has the sum. What was taken from ZooKeeper was counted
    in such blocks, too. Any 64 bits.
    """
    further = BLOCK_SIZE - 1
    within = clipped(previous_next, int(LONGS.min), int(LONGS.max) - further) + further
    return next_producer_id <= within
