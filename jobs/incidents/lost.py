"""Records that were stored, and that the copy which outlived the others does not have."""

from collections import defaultdict
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.incidents.known import EPOCH, Known, shaped, written
from jobs.incidents.parted import Stretch, parts_at
from jobs.incidents.ranges import MOST_READ_AGAIN, contiguous, without_others
from jobs.incidents.sent_again import sent_again
from jobs.incidents.signature import DIVERGED, LOST
from jobs.model.copies import topic_of_copies
from jobs.model.transactions import all_transactions
from jobs.spark.joins import inner, small
from jobs.spark.kept import KeptFrames
from jobs.spark.local import local_frame
from schemas.verdicts import VIOLATION
from udfs.arrow.data_between import Between, Written
from udfs.arrow.sent_again import Sent
from udfs.rules.attribution import may_end
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely

LOSSES = LOST_RECORDS, PLAIN_LOST = "records_lost", "plain_records_lost"
PARTITION = ("topic", "partition")
# Of copies of one topic, as `topic_of_copies` tells them.
OF_TOPIC = ["replicas", "incarnation"]


def first_differences(
    rows: DataFrame, partition_info: DataFrame, code: str = "code", *told: Column
) -> DataFrame:
    """Copies of partitions of which copies provably differ: partition_index, cut, and what is told.

    cut: the offset from which on. A finding names one of the copies; another topic of the name, of
    another cluster or from before this one was made, has none of it.
    """
    copies = partition_info.select("partition_index", *PLACE, *topic_of_copies())
    differ = rows.filter((F.col(code) == DIVERGED) & (F.col("verdict") == VIOLATION))
    cuts = (
        inner(differ, small(copies), on=[*PLACE])
        .groupBy(*OF_TOPIC)
        .agg(F.min("offset_first").alias("cut"), *told)
    )
    of_copies = copies.select("partition_index", *OF_TOPIC)
    return inner(of_copies, small(cuts), on=OF_TOPIC).drop(*OF_TOPIC)


def lost(placed: DataFrame, known: Known, kept: KeptFrames) -> list[DataFrame]:
    """Rows of CONSEQUENCE without audit_id. `placed`: see `jobs.incidents.assign`."""
    cut_by = F.min("incident").alias("cut_by")
    cuts = first_differences(placed, known.info, "label", cut_by)
    copies = kept.keep(inner(_copies(known), small(cuts), on="partition_index"))
    outlived = kept.keep(_outlived(copies, known))
    again = sent_again(outlived, known)
    later = kept.keep(_committed_later(outlived, copies.filter(~F.col("outlived")), known))
    whole, part = (later.filter(one).drop("in_part") for one in ("not in_part", "in_part"))
    pieces = _lost_in_part(part, again, known)
    return [
        _committed(placed, outlived, whole, pieces, known),
        _plain(outlived, again, known, kept),
    ]


def _copies(known: Known) -> DataFrame:
    """Copies of partitions: partition_index, PLACE, OF_TOPIC, start and end of the log, outlived.

    outlived: it ends in an older leader epoch than another one of its topic.
    """
    newest = known.splits.groupBy("partition_index").agg(
        F.max("final_leader_epoch").alias("leader_epoch")
    )
    place = known.info.select(
        "partition_index", *PLACE, "log_start_offset", "log_end_offset", *topic_of_copies()
    )
    highest = F.max("leader_epoch").over(Window.partitionBy(*OF_TOPIC))
    return (
        inner(newest, small(place), on="partition_index")
        .withColumn("outlived", F.col("leader_epoch") < highest)
        .drop("leader_epoch")
    )


def _outlived(copies: DataFrame, known: Known) -> DataFrame:
    """Those of `copies` that were outlived; `cut`: from where on they part from the others.

    told_from: from where on they have what no longer one of them has; survivor: partition_index of
    the copy that has most of the log since. A copy that only lags behind the others parts nowhere.
    In front of the survivor's log nothing is known to be lost.
    """
    topics: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in copies.collect():
        topics[row.replicas, row.incarnation].append(row)
    behind: dict[int, Between] = {}
    for some in topics.values():
        ends = [one.log_end_offset for one in some if one.outlived]
        if ends:
            every = Between(some[0].cut, max(ends), leaders=True)
            behind |= {one.partition_index: every for one in some}
    stretches = _stretches(known, behind)
    parted = []
    for some in topics.values():
        # Of those that went on, the one that has most of the log.
        survivor = min(
            (one for one in some if not one.outlived), key=lambda one: one.log_start_offset
        )
        told: list[int] = []
        for one in sorted(some, key=lambda one: (-one.log_end_offset, one.partition_index)):
            if not one.outlived:
                continue
            own = stretches[one.partition_index]
            cut = max(one.cut, survivor.log_start_offset)
            cut = parts_at(own, stretches[survivor.partition_index], cut)
            told_from = max([cut, *[parts_at(own, stretches[other], cut) for other in told]])
            parted.append((one.partition_index, cut, told_from, survivor.partition_index))
            told.append(one.partition_index)
    columns = "partition_index int, cut long, told_from long, survivor int"
    cuts = local_frame(copies.sparkSession, parted, columns)
    return inner(copies.drop("cut", "outlived"), small(cuts), on="partition_index")


def _stretches(known: Known, behind: Mapping[int, Between]) -> dict[int, list[Stretch]]:
    """By partition_index, what batches of one leader epoch lie next to each other."""
    stretches: dict[int, list[Stretch]] = defaultdict(list)
    if behind:
        found = known.between(behind).select("partition_index", *Stretch._fields)
        for index, *one in sorted(found.collect()):
            stretches[index].append(Stretch(*one))
    return stretches


def _named(placed: DataFrame) -> DataFrame:
    """Committed transactions of which findings say that a partition has nothing.

    lost_from: the offset behind which that is. In front of it transactions may share the epoch; the
    place of the finding is where the producer goes on, which lies behind all that is lost; lost_at:
    the first offset that may be of it, null where the finding does not tell.
    """
    found = placed.filter(
        (F.col("label") == LOST) & (F.col("verdict") == VIOLATION) & F.col("decided_commit")
    )
    return found.groupBy(*PARTITION, *EPOCH).agg(
        F.min("incident").alias("named_by"),
        F.min(F.coalesce("lost_behind", "offset_first")).alias("lost_from"),
        F.min(F.col("lost_behind") + 1).alias("lost_at"),
    )


def _copy() -> Column:
    """What is told of a transaction in a copy; the greatest is that of the copy with most of it.

    What begins in front of the cut is not counted: the log does not show how many of its records
    lie behind.
    """
    whole = F.coalesce(F.col("first_offset") >= F.col("cut"), F.lit(True))
    counted = F.when(whole, F.col("records")).alias("records")
    return F.struct(counted, "last_offset", "broker", "partition_index")


def _committed_later(outlived: DataFrame, survivors: DataFrame, known: Known) -> DataFrame:
    """Data that are open in the copies that have them, and that were committed without them.

    Whoever leads next takes the COMMIT of a transaction of which it has no data
    (`ProducerAppendInfo.appendEndTxnMarker`): the first marker of the producer behind the cut. A
    client commits when all its data are acknowledged; what was not it wrote again, behind the cut:
    in_part, where the survivor has data of the transaction there, and lacks no offset behind the
    cut, which a cleaner may have taken.
    """
    behind = outlived.select("partition_index", "cut", "cut_by", *OF_TOPIC)
    opened = inner(
        written(known).filter(F.col("ended_ms").isNull()), small(behind), on="partition_index"
    ).filter(F.col("last_offset") >= F.col("cut"))
    lacking = F.array_max(F.transform("missing", lambda one: one["end"]))
    missing = known.info.select("partition_index", F.coalesce(lacking, F.lit(0)).alias("lacks_to"))
    there = inner(survivors.select("partition_index", *OF_TOPIC), missing, on="partition_index")
    markers = inner(
        all_transactions(known.transactions, known.regular).filter("marker_offset is not null"),
        small(there),
        on="partition_index",
    ).select(
        *OF_TOPIC,
        "producer_id",
        "marker_offset",
        "lacks_to",
        F.struct("marker_epoch", "marker_commit", F.col("last_offset").alias("data")).alias("end"),
    )
    own = [*PARTITION, *EPOCH, "first_offset", "since_ms"]
    return (
        inner(
            markers,
            small(opened.withColumn("copy", _copy()).drop("broker")),
            on=[*OF_TOPIC, "producer_id"],
        )
        .filter(F.col("marker_offset") >= F.col("cut"))
        .groupBy(*own)
        .agg(
            F.min("cut_by").alias("incident"),
            F.max("cut").alias("cut"),
            F.max("copy").alias("copy"),
            F.min_by("end", "marker_offset").alias("ended"),
            F.max("lacks_to").alias("lacks_to"),
        )
        .withColumn("in_part", surely(F.col("ended.data") >= F.col("cut")))
        .filter(
            F.col("ended.marker_commit")
            & may_end(F.col("ended.marker_epoch"), F.col("producer_epoch"))
            & ~(F.col("in_part") & (F.col("lacks_to") > F.col("cut")))
        )
        .drop("ended", "lacks_to")
    )


def _lost_in_part(part: DataFrame, again: Mapping[int, frozenset[Sent]], known: Known) -> DataFrame:
    """The batches of committed transactions that their producer did not send again, in ranges.

    `part`: of `_committed_later`; `again`: of `sent_again`. Columns as of what `_committed` sums.
    A batch that was sent again shows that the COMMIT is of the same transaction; of others of its
    epoch it may be. Of more than MOST_READ_AGAIN transactions the rest is not told.
    """
    stored = F.col("copy.records").alias("stored")
    rows = part.select("*", "copy.broker", "copy.partition_index", "copy.last_offset", stored).drop(
        "copy"
    )
    asked: dict[int, list[Written]] = defaultdict(list)
    for row in rows.orderBy(*PARTITION, *EPOCH).limit(MOST_READ_AGAIN).collect():
        first = max(row.first_offset, row.cut)
        one = Written(row.producer_id, row.producer_epoch, first, row.last_offset)
        asked[row.partition_index].append(one)
    ranges = {
        index: Between(
            min(one.first_offset for one in some),
            transactional=True,
            written=tuple(some),
            without=again.get(index, frozenset()),
        )
        for index, some in asked.items()
    }
    transaction = ["partition_index", *EPOCH]
    of_rows = rows.drop("first_offset", "last_offset", "since_ms")
    pieces = known.between(ranges).drop("written_from", "leader_epoch")
    of_transaction = Window.partitionBy(*transaction)
    # A transaction is counted where it begins.
    begins = F.row_number().over(of_transaction.orderBy("first_offset")) == 1
    lacked = F.sum("records").over(of_transaction)
    return (
        inner(pieces, small(of_rows), on=transaction)
        .withColumns({"transactions": begins.cast("int"), "lacked": lacked})
        .filter(F.col("lacked") < F.col("stored"))
        .drop("lacked", "stored")
    )


def _committed(
    placed: DataFrame, outlived: DataFrame, later: DataFrame, pieces: DataFrame, known: Known
) -> DataFrame:
    """Committed transactions that findings name, and those that only outlived copies have.

    `later`: see `_committed_later`; `pieces`: see `_lost_in_part`.

    A COMMIT marker in a copy proves the decision. Offsets and records are those of the copy that
    has most of a transaction; broker is the one that has.
    """
    named = _named(placed)
    # Behind a cut another transaction of the epoch may begin at the offset of a lost one.
    transaction = [*PARTITION, *EPOCH, "first_offset", "since_ms"]
    behind = small(outlived.select("partition_index", "cut", "cut_by"))
    stored = (
        written(known)
        # A marker tells the decision; what a broker only has ended may have been aborted.
        .filter((F.col("outcome") == "commit") & F.col("ended_ms").isNotNull())
        .join(behind, on="partition_index", how="left")
        .join(small(named), on=[*PARTITION, *EPOCH], how="left")
        .withColumn(
            "named_by", F.when(F.col("first_offset") >= F.col("lost_from"), F.col("named_by"))
        )
    )
    gone = (
        stored.groupBy(*transaction)
        .agg(
            F.min(F.coalesce("named_by", "cut_by")).alias("incident"),
            F.max("named_by").isNotNull().alias("named"),
            F.bool_and(surely(F.col("last_offset") >= F.col("cut"))).alias("behind"),
            F.max("cut").alias("cut"),
            F.max(_copy()).alias("copy"),
        )
        .filter(F.col("incident").isNotNull() & (F.col("named") | F.col("behind")))
        .drop("named", "behind")
        .unionByName(later)
        .select(*transaction, "incident", "cut", "copy.*", F.lit(1).alias("transactions"))
    )
    nowhere = named.join(gone, on=[*PARTITION, *EPOCH], how="left_anti")
    ranges = (
        without_others(gone, known)
        .unionByName(pieces)
        .withColumn(
            # What lies in front of the cut every copy has.
            "first_offset",
            F.greatest("first_offset", "cut"),
        )
    )
    without_end = _summed(_without_end(nowhere)).withColumn("last_offset", F.lit(None).cast("long"))
    return _summed(ranges).unionByName(without_end)


def _without_end(nowhere: DataFrame) -> DataFrame:
    """What no copy has, for `_summed`: where it begins a finding tells, and nothing where it ends.

    `nowhere`: rows of `_named`.
    """
    return nowhere.select(
        F.col("named_by").alias("incident"),
        F.lit(None).cast("int").alias("broker"),
        *PARTITION,
        F.col("lost_at").alias("first_offset"),
        F.col("lost_at").alias("last_offset"),
        F.lit(1).alias("transactions"),
        F.lit(None).cast("long").alias("records"),
        F.lit(None).cast("long").alias("since_ms"),
    )


def _summed(gone: DataFrame) -> DataFrame:
    """Transactions that a partition lost; `records` is null where they are not counted."""
    summed = contiguous(
        gone,
        ("incident", *PLACE),
        F.sum("transactions").alias("transactions"),
        F.bool_and(F.col("records").isNotNull()).alias("counted"),
        F.sum("records").alias("records"),
        F.min("since_ms").alias("since_ms"),
    )
    whole = F.col("counted")
    records = F.when(whole, F.col("records"))
    return shaped(summed, F.lit(LOST_RECORDS), records=records, provable=whole)


def _plain(
    outlived: DataFrame, again: Mapping[int, frozenset[Sent]], known: Known, kept: KeptFrames
) -> DataFrame:
    """Records outside of transactions that only outlived copies have, each once.

    What lies below its high watermark was acknowledged, whatever the producers asked for, or its
    producer never got the answer and sent it again (`again`: of `sent_again`). Above it the
    producers may have got an error, and have written the records again.
    """
    behind = {
        row.partition_index: Between(
            row.told_from,
            contiguous=True,
            without=again.get(row.partition_index, frozenset()),
        )
        for row in outlived.collect()
        if row.told_from < row.log_end_offset
    }
    found = contiguous(
        kept.keep(known.between(behind)),
        ("partition_index",),
        F.sum("records").alias("records"),
        F.min("since_ms").alias("since_ms"),
    )
    high_watermarks = known.states.select("partition_index", "high_watermark")
    told = inner(
        inner(found, small(outlived), on="partition_index"),
        small(high_watermarks),
        on="partition_index",
    ).withColumnRenamed("cut_by", "incident")
    acknowledged = is_replicated(F.col("last_offset"), F.col("high_watermark"))
    return shaped(told, F.lit(PLAIN_LOST), provable=surely(acknowledged))
