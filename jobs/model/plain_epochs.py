"""What was decided and marked in a plain way, known before anything of it is a row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame


@dataclass(frozen=True)
class PlainEpochs:
    """Epochs with one decision and its markers, all of them folded away and in order.

    Or with markers only, all folded away, below the epochs of which the coordinator's log tells.
    `number`: the rows that they would have been. `others`: what else is packed, decisions by
    partition and markers. `keys`: `udfs.arrow.blocks.epoch_keys` of all other epochs, in ascending
    order. `first_ended`: rows of `udfs.arrow.plain_epochs.FIRST_ENDED`.
    """

    number: int
    others: int
    keys: NDArray[np.uint64]
    first_ended: DataFrame
