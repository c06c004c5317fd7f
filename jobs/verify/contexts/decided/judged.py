"""Which decision of a row is judged: what is proven of it, and where its marker would stand.

A row has up to three that may lack their own marker: the first that counting tells, the first that
was carried out unseen, and the newest one, which is asked where the outcome has no marker at all.
What a row tells is all of one of them.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import came_twice
from jobs.verify.conditions.missing import marker_lost, marker_missing_between
from jobs.verify.contexts.decided.unseen import OF_GAP, OF_SHORT
from jobs.verify.contexts.decided.window import COUNTED, NEWEST, UNSEEN
from jobs.verify.verdict import CLOCK_SKEW, DUMP_BEFORE_EVENT, MISSING_RANGE
from udfs.rules import attribution
from udfs.rules.extent import MAX_OFFSET, is_replicated
from udfs.rules.logic import surely


def _begun_late(tolerance: Column) -> Column:
    """Whether data of the epoch may first have come to a log that is younger than the decision.

    Its first moment, in front of them, is later than the Prepare record; or their own is, where the
    broker stamps them, as a client asks for the end of a transaction when its data are in the log
    (`Sender.maybeSendAndPollTransactionalRequest`). Or the marker that ended the first of them may
    be: an operator may have ended what came late. A topic that was created again takes them, too.
    One with the epoch of the decision took the place of its marker, whoever wrote it.
    """
    first = F.col("data_run.first_offset")
    in_front = F.when(F.col("first_read_offset") < first, F.col("first_read_ms"))
    own, ended = F.col("data_begun_ms"), F.col("first_ended_ms")
    prepared = F.col("completed_prepare")
    in_place = F.col("prepared_data_epoch") == F.col("marker_epoch")
    before = attribution.marked_before(
        ended, prepared, F.col("apart_ms"), in_place | F.col("first_ended_commit"), F.lit(True)
    )
    later = surely(F.greatest(in_front, own) > prepared) | surely(~before)
    twice = came_twice(in_front, tolerance) | came_twice(own, tolerance)
    late: Column = later | twice | came_twice(ended, tolerance)
    return late


def _of_first() -> list[Column]:
    """due_from, counted_gone, unseen_gone: `_held` of the decisions that are due in the copy.

    Their marker is due where something is older, or where the log begins with its partition.
    """
    moment = F.coalesce("first_dated_ms", "first_read_ms")

    def older(prepared: Column) -> Column:
        dated = surely(attribution.surely_before(moment, prepared, F.col("apart_ms")))
        from_head = F.when(F.col("all_since_ms").isNotNull() & ~dated, F.lit(-1))
        return F.coalesce(
            "earlier_offset", "order_anchor", from_head, "first_dated_offset", "first_read_offset"
        )

    counted, unseen = F.col("short_prepared"), F.col("unseen_short.prepared")
    return [
        F.coalesce("own_data_last", older(F.coalesce(counted, unseen))).alias("due_from"),
        _gone(older(counted), COUNTED).alias("counted_gone"),
        _gone(older(unseen), UNSEEN).alias("unseen_gone"),
    ]


def _of_newest(tolerance: Column) -> list[Column]:
    """newest_from, newest_unproven, newest_gone: `_held` of the newest decision of the row.

    Data of an epoch that transactions share may have come late, behind the marker of their own one,
    which may be gone with the head of the log. So they prove that a marker is due only where the
    log has had no other head since their epoch began in it: then it is due from offset 0 on.
    """
    older = F.coalesce(
        "earlier_offset", "order_anchor", "clock_anchor", "replica_anchor", "head_anchor"
    )
    settled = F.col("owner_settled") & ~F.col("owner_may_be_lost")
    theirs = F.coalesce(F.when(settled, F.col("owned_last")), F.col("early_anchor"))
    whole = attribution.has_had_no_other_head(
        F.col("first_base"), F.col("coordinator_topic"), F.col("data_first_sequence")
    )
    there = F.col("coordinator_topic") | ~_begun_late(tolerance)
    from_start = F.when(theirs.isNotNull() & surely(whole & there), F.lit(-1))
    surely_from = F.coalesce("own_data_last", older, from_start)
    held_from = F.coalesce(surely_from, "owned_last", "early_anchor", "near_anchor")
    # The cleaner keeps the marker of data that are still there, at or above the log start.
    own_data = F.col("own_data_last").isNotNull()
    likely_from = F.coalesce("own_data_last", "owned_last", "early_anchor", held_from)

    def gone(anchor: Column) -> Column:
        return _gone(anchor, NEWEST, own_data)

    proven = surely_from.isNotNull() & ~gone(surely_from)
    # A later transaction may own the data: it is lost, or not in the copy of the log yet.
    not_yet = F.col("owned_last").isNotNull() & ~F.col("owner_may_be_lost")
    by_near_clock = surely_from.isNull() & F.col("owned_last").isNull()
    unproven = (
        F.when(proven, F.lit(None))
        .when(theirs.isNotNull(), F.lit(MISSING_RANGE))
        .when(not_yet, F.lit(DUMP_BEFORE_EVENT))
        .when(by_near_clock, F.lit(CLOCK_SKEW))
        .otherwise(F.lit(MISSING_RANGE))
    )
    return [
        held_from.alias("newest_from"),
        unproven.alias("newest_unproven"),
        gone(likely_from).alias("newest_gone"),
    ]


def _gone(anchor: Column, which: str, own_data: Column | None = None) -> Column:
    """Whether a marker may be missing between an offset and where it is due at last.

    `which`: of the decisions of a row, see `with_window`; `own_data`: the offset is that of data of
    this transaction alone, None where it is not.
    """
    around = f"around_{which}"
    first = F.greatest(anchor, F.col(f"{around}.behind_marker")) + 1
    held_to = F.least("later_run.run_first", f"{around}.before_marker", F.lit(MAX_OFFSET))
    # A decision's markers have the epoch of its Prepare record, if that is the one in effect.
    epoch = None if which == UNSEEN else F.col("marker_epoch")
    of_any = _missing(first, held_to, epoch)
    if own_data is None:
        return surely(of_any)
    of_own = marker_lost(anchor, first, held_to, F.col("commit"), F.col("data_file_end"))
    return surely(F.when(own_data, of_own).otherwise(of_any))


def _missing(first: Column, last: Column, epoch: Column | None) -> Column:
    """Whether a marker may be missing between the two, inclusive; null where one of them is.

    Behind data that lie open any marker of their producer would have ended them, and the cleaner
    keeps it: there only what no cleaner takes counts. That is so in a copy of one moment, of data
    with the epoch of the marker (others may have been ended by one that raised it), and where no
    marker of the producer is behind them, which ended them whatever lies between.
    """
    opened = F.col("open_run.first_offset")
    in_front = marker_missing_between(first, F.least(last, opened - 1), epoch)
    behind = marker_lost(opened, F.greatest(first, opened), last)
    of_one_moment = opened >= F.coalesce("one_moment_from", F.lit(MAX_OFFSET))
    of_epoch = F.col("prepared_data_epoch") == F.col("marker_epoch")
    lie_open = F.coalesce(F.col("own_marker_last") < opened, F.lit(True))
    return F.when(surely(of_one_moment & of_epoch & lie_open), in_front | behind).otherwise(
        marker_missing_between(first, last, epoch)
    )


def _proven() -> dict[str, tuple[Column, Column]]:
    """Of each decision whether nothing explains that its marker is not there, and its place.

    The place is the offset of the record that shows it carried out. The count is asked of another
    one than the newest, of which more is asked.
    """
    of_version_2 = surely(F.col("with_transaction_version_1") == 0)

    def proven(ended: Column, held_from: Column, explained: Column) -> tuple[Column, Column]:
        refused = attribution.format_may_refuse(
            F.col("last_legacy_offset"), held_from, of_version_2
        )
        replicated = is_replicated(ended, F.col("coordinator_replicated_below"))
        known = surely(replicated & held_from.isNotNull() & ~surely(refused) & ~explained)
        return known, ended

    counted, unseen = F.col("short_complete"), F.col("unseen_short.complete")
    newest, due_from = F.col("complete_offset"), F.col("due_from")
    late = F.col("newest_unproven").isNotNull() | ~F.col("copied_later")
    return {
        COUNTED: proven(
            F.when(counted < newest, counted),
            due_from,
            F.col("short_as_read") | F.col("counted_gone"),
        ),
        UNSEEN: proven(unseen, due_from, F.col("unseen_short.as_read") | F.col("unseen_gone")),
        NEWEST: proven(newest, F.col("newest_from"), F.col("newest_gone") | late),
    }


def _judged() -> Column:
    """Which decision of a row is judged: COUNTED, UNSEEN or NEWEST.

    Where the outcome has no marker at all, each decision lacks its own: the first of those counts
    that prove it. Any of them may be too late for the copy, its marker may be lost, or its Complete
    record: that says nothing of the others. Beside markers only the count tells, or what was
    carried out unseen.
    """
    counted, unseen = F.col("short_place").isNotNull(), F.col("unseen_short").isNotNull()
    proven = [
        F.when(known, F.struct(ended.alias("ended"), F.lit(which).alias("which")))
        for which, (known, ended) in _proven().items()
    ]
    least_late = F.when(unseen, F.lit(UNSEEN)).otherwise(F.lit(NEWEST))
    beside = F.when(counted, F.lit(COUNTED)).otherwise(least_late)
    first: Column = F.least(*proven)["which"]
    return F.when(F.col("markers").isNotNull(), beside).otherwise(F.coalesce(first, least_late))


def _may_come(tolerance: Column) -> Column:
    """Whether the marker that is missing may be one that a replica has behind the end of the copy.

    Of an epoch that transactions share it may be that of another one: then its moment is surely
    later than the Complete record. That counts in a copy whose high watermark is known: what lies
    above it may be of a leader that was replaced. A copy that is only shorter has no data from
    after the marker.
    """
    behind, apart = F.col("behind_end_ms"), F.col("apart_ms")
    of_another = (
        attribution.surely_before(F.col("short_completed"), behind, apart)
        & ~F.col("short_unseen")
        & ~came_twice(behind, tolerance)
        & F.col("high_watermark").isNotNull()
    )
    may: Column = behind.isNotNull() & ~surely(of_another) & ~surely(F.col("goes_on"))
    return may


def lacks_batches() -> Column:
    """Whether a marker may be missing somewhere between those of the copy."""
    lacks = (F.size("missing") > 0) | (F.size("holes") > 0) | F.col("emptied").isNotNull()
    return surely(lacks)


def _held() -> dict[str, Column]:
    """What is proven of the decision that is judged, and where its marker would stand.

    short_*: null of the newest one, but for its gap (next, behind). short_number: null where
    something of the copy is missing, which may hold some of the markers. lacking_* (place, length):
    the Prepare record.
    """
    by_count, unseen, newest = (F.col("judged") == one for one in (COUNTED, UNSEEN, NEWEST))

    def of_short(name: str) -> Column:
        short = F.when(by_count, F.col(f"short_{name}"))
        of_unseen = short.when(unseen, F.col(f"unseen_short.{name}"))
        return of_unseen.when(newest, F.col(f"newest_gap.{name}")) if name in OF_GAP else of_unseen

    def shown(name: str) -> Column:
        of_newest = F.when(newest, F.col(f"newest_gap.{name}"))
        return F.coalesce(of_short(name), of_newest, f"record_{name}")

    return {
        "short_number": F.when(by_count & ~lacks_batches(), F.col("short_number")),
        **{f"short_{name}": of_short(name) for name in OF_SHORT},
        "short_unseen": unseen,
        **{f"lacking_{name}": shown(name) for name in ("place", "length")},
        "held_from": F.when(newest, F.col("newest_from")).otherwise(F.col("due_from")),
        "unproven": F.when(newest, F.col("newest_unproven")),
        "marker_missing": F.when(by_count, F.col("counted_gone"))
        .when(unseen, F.col("unseen_gone"))
        .otherwise(F.col("newest_gone")),
    }


def with_judged(rows: DataFrame, tolerance: Column) -> DataFrame:
    """Adds judged, `_held` and `_may_come`; after `with_window` and `with_anchors`."""
    read = rows.select("*", *_of_first(), *_of_newest(tolerance))
    judged = read.withColumn("judged", _judged()).withColumns(_held())
    return judged.withColumn("may_come", _may_come(tolerance))
