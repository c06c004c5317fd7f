"""What only an outlived copy seems to have, and the copy that went on has all the same.

A producer that got no answer from the old leader sends its batches again, and the new leader
appends them behind the end that it had (`udfs.arrow.sent_again`). Of more than MOST_SENT batches of
all copies the rest count as not sent again.
"""

from collections import defaultdict
from collections.abc import Mapping

from pyspark.sql import DataFrame

from jobs.incidents.known import Known
from udfs.arrow.sent_again import Asked, Sent

MOST_SENT = 200_000


def sent_again(outlived: DataFrame, known: Known) -> dict[int, frozenset[Sent]]:
    """By partition_index of a copy that was outlived: the batches behind its cut that are not lost.

    `outlived`: one row a copy, with partition_index, cut (from this offset on it parts from the
    survivor), log_end_offset, and survivor (partition_index of the copy that went on).
    """
    parted = {
        row.partition_index: row for row in outlived.collect() if row.cut <= row.log_end_offset
    }
    stored = _sends({index: Asked(row.cut) for index, row in parted.items()}, known)
    wanted: dict[int, Asked] = {}
    for index, row in parted.items():
        before = wanted.get(row.survivor, Asked(row.cut, frozenset()))
        among = frozenset(stored[index]) | (before.among or frozenset())
        wanted[row.survivor] = Asked(min(before.begin, row.cut), among)
    there = _sends({index: one for index, one in wanted.items() if one.among}, known)
    return {index: frozenset(there[row.survivor]) for index, row in parted.items()}


def _sends(asked: Mapping[int, Asked], known: Known) -> dict[int, set[Sent]]:
    found: dict[int, set[Sent]] = defaultdict(set)
    if asked:
        names = ("partition_index", *Sent._fields)
        rows = known.sends(asked).select(*names).orderBy(*names).limit(MOST_SENT)
        for index, *one in rows.collect():
            found[index].add(Sent(*one))
    return found
