"""What a decision and the markers beside it accuse, and where a finding of them lies."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.spark.joins import inner
from jobs.verify.contexts.decided.epochs import with_other_outcome
from jobs.verify.contexts.decided.judged import lacks_batches
from jobs.verify.contexts.decided.matching import (
    KEY,
    as_many_markers,
    has_too_many,
    may_have_epoch_of_data,
)
from jobs.verify.contexts.decided.places import place_number, with_places
from jobs.verify.contexts.transaction import Ages
from udfs.rules import attribution
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely

PLACES = (
    "marker", "record", "unraised", "wrong", "stale", "committed", "decided", "unexpected",
    "torn", "lacking", "early", "misfit", "contradicting", "against",
)  # fmt: skip


def _judged(rows: DataFrame) -> DataFrame:
    """Adds whether a marker stands in place of another one, and whether a missing one is legal.

    commits_undecided: the row has a COMMIT more than was decided; replaces_decided: its marker is
    there in place of the other outcome, which was decided; committed_undecided_instead: the same of
    a row without a marker; format_refused: its message format may have refused marker and data.
    """
    undecided = surely(
        has_too_many()
        & F.col("commit")
        & F.col("history_after_all")
        & F.col("never_committed")
        & attribution.ended_too_many(F.col("closing"), F.col("prepares"))
    )
    beside = with_other_outcome(rows.withColumn("commits_undecided", undecided))
    return _with_opposed(beside).select(
        "*",
        # No operator's marker, or not only that: an operator's leaves the epoch as it is.
        surely(
            (F.col("other_unmet") | F.col("other_short"))
            & F.col("in_place")
            & ~(
                F.col("unraised_offset").isNotNull()
                & F.col("raised_offset").isNull()
                & (F.col("decided_with_transaction_version_1") == F.lit(False))
            )
        ).alias("replaces_decided"),
        (_format_may_refuse() & surely(F.col("data_run").isNull())).alias("format_refused"),
        # One marker is missing, and a COMMIT is there that nobody decided.
        (F.col("other_undecided") & F.col("markers").isNull() & (F.col("completes") == 1)).alias(
            "committed_undecided_instead"
        ),
    )


def _format_may_refuse() -> Column:
    of_version_2 = surely(F.col("with_transaction_version_1") == 0)
    legacy, older = F.col("last_legacy_offset"), F.col("held_from")
    may: Column = surely(attribution.format_may_refuse(legacy, older, of_version_2))
    return may


def _with_opposed(rows: DataFrame) -> DataFrame:
    """Adds the first marker of an epoch that lies where the opposite was decided; see `opposing`.

    opposed: a struct of the marker, its outcome (marked_commit) and the Prepare record; null where
    the row of the other outcome tells it. replaced: the decision of the row that has no marker has
    one of the other outcome in its place, and nothing explains that its own is not there.
    """
    settled = surely(
        F.col("held_from").isNotNull()
        & ~F.col("marker_missing")
        & is_replicated(F.col("short_complete"), F.col("coordinator_replicated_below"))
        & ~F.col("may_come")
        & ~_format_may_refuse()
    )
    known = surely((F.col("decidable") == 1) & F.col("history_later"))

    def told(found: str, marked_commit: Column) -> Column:
        marker, commit = marked_commit.alias("marked_commit"), F.col("commit").alias("told_commit")
        return F.when(F.col(found).isNotNull(), F.struct(f"{found}.*", marker, commit))

    # Of an epoch that was not decided both ways the row of that marker tells it.
    both_ways = F.when(F.col("commit"), F.col("decided_abort")).otherwise(F.col("decided_commit"))
    # Another marker may be missing in a gap: then somebody else wrote this one. And decisions of
    # several ids have no order.
    contrary = F.col("contrary").isNotNull() & surely(
        both_ways
        & ~surely(F.col("several_ids"))
        # A COMMIT too many: marker_without_prepare reports it.
        & ~F.col("other_undecided")
        & is_replicated(F.col("contrary_complete"), F.col("coordinator_replicated_below"))
        & ~lacks_batches()
        & F.col("last_legacy_offset").isNull()
    )
    # Where decisions may be gone, the other marker may be of one of those.
    replaced = (
        settled
        & surely(both_ways)
        & surely(~F.col("short_as_read"))
        & F.col("opposing").isNotNull()
        & surely(F.col("decidable") == 1)
    )
    # Of the row's decisions a marker of the other outcome, or a COMMIT of its own.
    opposed = F.least(
        F.when(replaced, told("opposing", ~F.col("commit"))),
        F.when(contrary, told("contrary", ~F.col("commit"))),
        F.when(known, told("premature", F.col("commit"))),
    )
    both = Window.partitionBy(*[name for name in KEY if name != "commit"])
    with_both = rows.select("*", (replaced | contrary).alias("replaced"), opposed.alias("opposed"))
    first = with_both.withColumn("first_opposed", F.min("opposed").over(both))
    mine = F.when(F.col("opposed") == F.col("first_opposed"), F.col("opposed"))
    at_offset = F.col("first_opposed.offset")
    return first.withColumns({"opposed": mine, "opposed_offset": at_offset}).drop("first_opposed")


def _coordinator_epochs() -> list[Column]:
    """The coordinator epoch of a marker of the row that fits none of its decisions.

    misfit_epoch, and from_epoch to to_epoch that would fit; null where all fit. An operator's abort
    has the epoch of the data and names no coordinator; under version 2 no other marker has.
    of_no_coordinator: under version 2 none can have had that of a COMMIT when it was written. Its
    decision is known, and complete under a lower leader epoch: a later coordinator finds its
    Complete record, and sends nothing.
    """
    single = attribution.one_transaction_an_epoch(F.col("with_transaction_version_1"))
    lowest = F.when(single, F.col("lowest_raised_coordinator_epoch")).otherwise(
        F.col("lowest_coordinator_epoch")
    )
    highest = F.when(single, F.col("highest_raised_coordinator_epoch")).otherwise(
        F.col("highest_coordinator_epoch")
    )
    known = single | (F.col("decidable") == 1)
    old, new = lowest < F.col("lowest_leader_epoch"), highest > F.col("latest_leader_epoch")
    # A marker between two decisions may be of a third one, where some are lost or compacted away.
    odd = F.col("odd_place").isNotNull() & (F.col("decidable") == 1)
    all_known = (F.col("decidable") == 1) & F.col("history_after_all") & as_many_markers()
    elected_later = F.col("latest_leader_epoch").between(0, highest - 1)
    return [
        F.when(known & old, lowest)
        .when(known & new, highest)
        .when(odd, F.col("odd_epoch"))
        .alias("misfit_epoch"),
        F.when(odd & ~(old | new), F.col("odd_lowest"))
        .otherwise(F.col("lowest_leader_epoch"))
        .alias("from_epoch"),
        F.when(odd & ~(old | new), F.col("odd_highest"))
        .otherwise(F.col("latest_leader_epoch"))
        .alias("to_epoch"),
        # An operator may give an ABORT any coordinator epoch.
        surely(single & F.col("commit") & ~old & elected_later & all_known).alias(
            "of_no_coordinator"
        ),
    ]


def _with_chosen_markers(rows: DataFrame, markers: DataFrame) -> DataFrame:
    """Adds the marker that a finding is about, where a row has several.

    early_* (place, offset, first): the first with the earliest timestamp; misfit_*: the first with
    the coordinator epoch that fits none of the decisions. first: of its data, else its own offset.
    """
    several = F.col("markers") > 1
    asked = (F.col("earliest_marker") < F.col("earliest_prepare")) | F.col(
        "misfit_epoch"
    ).isNotNull()
    single = attribution.one_transaction_an_epoch(F.col("with_transaction_version_1"))
    keys = rows.filter(several & asked).select(
        *KEY, "earliest_marker", "misfit_epoch", surely(single).alias("single")
    )
    own = may_have_epoch_of_data()
    marker = F.struct(
        F.col("marker_offset").alias("offset"),
        place_number("file_index", "marker_position").alias("place"),
        F.coalesce("first_offset", "marker_offset").alias("first"),
    )
    early = F.col("marker_timestamp") == F.col("earliest_marker")
    misfit = (F.col("coordinator_epoch") == F.col("misfit_epoch")) & ~(F.col("single") & own)
    found = (
        inner(markers.withColumnRenamed("marker_commit", "commit"), keys, on=KEY)
        .groupBy(*KEY)
        .agg(
            F.min(F.when(early, marker)).alias("early"),
            F.min(F.when(misfit, marker)).alias("misfit"),
        )
    )
    odd = F.col("odd_epoch") == F.col("misfit_epoch")
    only = {"place": "marker_place", "offset": "marker_offset", "first": "data_first"}
    return (
        rows.join(found, on=KEY, how="left")
        .select(
            "*",
            *[
                F.coalesce(f"early.{name}", one, "marker_offset").alias(f"early_{name}")
                for name, one in only.items()
            ],
            *[
                F.coalesce(
                    F.when(odd, F.col(f"odd_{name}")), f"misfit.{name}", one, "marker_offset"
                ).alias(f"misfit_{name}")
                for name, one in only.items()
            ],
        )
        .drop("early", "misfit")
    )


def _located(rows: DataFrame, markers: DataFrame, files: DataFrame) -> DataFrame:
    """Places of everything that a finding may show."""
    of_transaction_version_2 = F.col("with_transaction_version_1") == 0
    named = rows.select(
        "*",
        *[
            F.when(of_transaction_version_2, F.col(f"unraised_{name}"))
            .otherwise(F.col(f"raised_{name}"))
            .alias(f"wrong_{name}")
            for name in ("place", "offset", "first", "last")
        ],
        *_coordinator_epochs(),
        # Of transactions that share the epoch one that lists the partition.
        F.coalesce("committed_place", "other_record_place", "decided_place").alias("torn_place"),
        F.coalesce("committed_length", "other_record_length", "decided_length").alias(
            "torn_length"
        ),
        F.coalesce("committed_epoch", "marker_epoch").alias("torn_epoch"),
        F.when(F.col("commits_undecided"), F.col("undecided_place"))
        .otherwise(F.col("marker_place"))
        .alias("unexpected_place"),
        F.coalesce("opposed.place", "marker_place").alias("contradicting_place"),
        F.coalesce("opposed.decided_place", "decided_place").alias("against_place"),
        F.coalesce("opposed.decided_length", "decided_length").alias("against_length"),
        F.coalesce("short_told", "complete_offset").alias("lacking_complete"),
        F.coalesce("short_complete", "complete_offset").alias("counted_complete"),
        F.col("short_next.place").alias("short_next_place"),
        # What a marker ended is not what waits for one.
        F.coalesce("open_run", "data_run").alias("lacking_run"),
    )
    return with_places(
        _with_chosen_markers(named, markers), files, *PLACES, "short_next",
        data_file="lacking_run.file_index", later_file="later_run.file_index",
    )  # fmt: skip


def _contradicting(first: Column, last: Column) -> list[Column]:
    """The marker that contradicts a decision: its offset and outcome, and what it ended.

    `first`, `last`: of the row.
    """
    opposed = F.col("opposed")
    outcome = F.coalesce("opposed.marked_commit", "commit")
    return [
        F.coalesce("opposed.offset", "marker_offset").alias("contradicting_offset"),
        F.when(outcome, "COMMIT").otherwise("ABORT").alias("contradicting_outcome"),
        F.when(outcome, "ABORT").otherwise("COMMIT").alias("contradicted_outcome"),
        F.when(opposed.isNotNull(), F.coalesce("opposed.first", "opposed.offset"))
        .otherwise(first)
        .alias("contradicting_first"),
        F.when(opposed.isNotNull(), F.col("opposed.offset"))
        .otherwise(last)
        .alias("contradicting_last"),
    ]


def _enriched(located: DataFrame, ages: Ages) -> DataFrame:
    """The place of a finding, and how long it waits."""
    now = F.least("history_covers_ms", F.lit(ages.now).cast("long"))
    marked = F.col("markers").isNotNull()
    short = F.col("short_next").isNotNull()
    # The first marker of the row may have ended nothing, and a later one the first data.
    of_marker = F.least("data_first", "marker_offset")
    # All that the log had up to then is lost, and it begins anew.
    at_head = F.when(F.col("last_older") < 0, F.lit(0).cast("long"))
    first = F.when(marked, of_marker).otherwise(
        F.coalesce("lacking_run.first_offset", at_head, "later_run.run_first", "last_older")
    )
    last = F.when(marked, F.col("marker_offset")).otherwise(
        F.coalesce("data_run_last", at_head, "later_run.run_first", "last_older")
    )
    next_first = F.coalesce("short_next.first", "short_next.offset")
    # No marker comes next: its data lie open, if they are there. Else all of it is lost behind the
    # marker before.
    left_open = F.col("open_run.first_offset")
    lost_behind = F.when(~short & left_open.isNull(), F.col("short_behind"))
    return located.select(
        "*",
        F.when(F.col("commit"), "COMMIT").otherwise("ABORT").alias("decision"),
        (now - F.col("earliest_prepare")).alias("pending_ms"),
        F.lit(ages.clock_tolerance).alias("clock_tolerance_ms"),
        F.coalesce(
            "transactional_id",
            "decided_id",
            "committed_id",
            F.when(F.col("contradicted") == 1, F.col("last_id")),
            F.when(F.col("contradicted_early") == 1, F.col("first_id")),
        ).alias("owner"),
        first.alias("offset_first"),
        last.alias("offset_last"),
        F.coalesce(F.when(short, next_first), left_open, lost_behind, first).alias(
            "lacking_first"
        ),
        F.when(short, F.coalesce("short_next.last", next_first, last))
        .when(left_open.isNotNull(), F.col("data_run_last"))
        .otherwise(F.coalesce(lost_behind, last))
        .alias("lacking_last"),
        lost_behind.isNotNull().alias("all_lost"),
        F.when(F.col("commits_undecided"), F.col("undecided_first")).otherwise(first).alias(
            "unexpected_first"
        ),
        F.when(F.col("commits_undecided"), F.col("undecided_offset")).otherwise(last).alias(
            "unexpected_last"
        ),
        *_contradicting(first, last),
        F.coalesce("prepared_data_epoch", "marker_epoch").alias("producer_epoch"),
        F.coalesce("marker_file", "data_file", "later_file", "record_file").alias("file"),
        F.coalesce(
            "marker_position", "lacking_run.first_position", "later_run.run_position",
            "record_position",
        ).alias("byte_position"),
        F.coalesce(
            F.when(marked, F.col("marker_length")), "lacking_run.first_length",
            "later_run.run_length", "record_length",
        ).cast("int").alias("byte_length"),
    ).drop("transactional_id").withColumnRenamed("owner", "transactional_id")  # fmt: skip


def _with_shown(rows: DataFrame) -> DataFrame:
    """Adds the batch that shows where a marker is missing; the Prepare record, where all is lost.

    shown_*: file, position, length. Where the outcome has no marker, that of the other outcome
    which took the data.
    """
    names = {"file": "file", "position": "byte_position", "length": "byte_length"}
    taken = F.col("markers").isNull() & F.col("short_next").isNotNull()
    rows = rows.withColumn("short_next_length", F.col("short_next.length"))
    shown = {
        f"shown_{name}": F.when(F.col("all_lost"), F.col(f"lacking_{name}"))
        .when(taken, F.col(f"short_next_{name}"))
        .otherwise(F.col(one))
        for name, one in names.items()
    }
    return rows.withColumns(shown)


def with_findings(rows: DataFrame, markers: DataFrame, files: DataFrame, ages: Ages) -> DataFrame:
    """Adds what a row accuses, the places of all that a finding shows, and how long it waits."""
    return _with_shown(_enriched(_located(_judged(rows), markers, files), ages))
