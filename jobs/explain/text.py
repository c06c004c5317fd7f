"""The whole explanation of one partition, in lines for a terminal."""

from collections import Counter
from collections.abc import Iterator
from textwrap import wrap

from jobs.explain.advice import ADVICE, also_blocking
from jobs.explain.situation import Row, Situation, what_holds
from jobs.explain.words import duration, moment, printable
from jobs.model.counted import count
from schemas.coordinator_states import ONGOING, STATE_NAMES, TWO_PHASE_COMMIT_TIMEOUT

# Partitions of a transaction that are named, before the rest is only counted.
SHOWN_PARTITIONS = 10
WIDTH = 100


def explanation(given: Situation) -> str:
    """What a person on call reads: where it stands, who holds it, since when, what to do."""
    held = what_holds(given)
    lines = [*_position(given), *_other_replicas(given)]
    if given.holder is not None:
        lines += ["", "Held by", *_holder(given), "", "Coordinator", *_coordinator(given)]
    lines += ["", f"What it is: {held}", "", "What to do"]
    advised = [*ADVICE[held](given), *also_blocking(given)]
    lines += [line for advice in advised for line in _indented(advice)]
    where = "copy" if given.in_other_copies else "partition"
    title = f"Findings in this {where}"
    lines += ["", *_found(title, given.here, given.here_in_all, given.name)]
    lines += _in_other_copies(given)
    if given.holder is not None:
        title = f"Findings about producer {given.holder['producer_id']} in other partitions"
        if given.also_elsewhere:
            title += f": {given.also_elsewhere:,} of those in this {where}; others"
        lines += ["", *_found(title, given.elsewhere, given.elsewhere_in_all)]
    lines += ["", f"Audit {given.audit_id}, as of {moment(given.as_of_ms)}."]
    return "\n".join(lines)


def _indented(advice: str) -> list[str]:
    """Prose in lines of a terminal's width; a command stays one line, to be copied."""
    if advice.startswith(" "):
        return [f"  {advice}"]
    return wrap(advice, WIDTH, initial_indent="  ", subsequent_indent="  ")


def place(row: Row) -> str:
    """topic-partition on its broker; the bare name where the broker is unknown."""
    name = f"{row['topic']}-{row['partition']}"
    return name if row["broker"] is None else f"{name} on broker {row['broker']}"


def _position(given: Situation) -> Iterator[str]:
    state = given.state
    stable, end = state["last_stable_offset"], state["log_end_offset"]
    mark = state["high_watermark"]
    behind = "no offset waits" if end <= stable else f"{count(end - stable, 'offset')} wait"
    yield f"{place(state)}: the last stable offset is {stable}; {behind} after it"
    yield (
        f"  log start offset {state['log_start_offset']}, last stable offset {stable}, high "
        f"watermark {'unknown' if mark is None else mark}, log end offset {end}"
    )
    if mark is None:
        yield "  no checkpoint has the high watermark: the log end offset is used instead"
    elif mark < end:
        yield f"  {count(end - mark, 'offset')} at the end are not known to be replicated"
    transactions, records, begun = given.waiting
    if end > stable:
        rest = f", the rest of {count(begun, 'transaction')} that began before" if begun else ""
        yield (
            f"  waiting: {count(records, 'record')} of {count(transactions, 'transaction')}{rest}, "
            "and all non-transactional records"
        )


def _other_replicas(given: Situation) -> Iterator[str]:
    if given.of_several_topics:
        yield (
            "  copies of this topic have different ids (topic_id_mismatch): one may be left over "
            "of a deleted topic, which nobody reads; choose the copy with --broker"
        )
    for row in given.replicas:
        yield (
            f"  the copy on broker {row['broker']}: last stable offset "
            f"{row['last_stable_offset']}, log end offset {row['log_end_offset']}"
        )


def _holder(given: Situation) -> Iterator[str]:
    state, holder = given.state, given.holder or {}
    identity = state["lso_transactional_id"]
    owner = "no known transactional id" if identity is None else f"id {printable(identity)}"
    yield f"  producer {holder['producer_id']}, epoch {holder['producer_epoch']}, {owner}"
    if holder["last_offset"] is None:
        yield (
            f"  from offset {holder['first_offset']}, by the newest producer snapshot: this copy "
            "has none of its batches"
        )
    else:
        yield (
            f"  offsets {holder['first_offset']} to {holder['last_offset']}, "
            f"{count(holder['records'], 'record')} in "
            f"{count(holder['batches'], 'batch', 'batches')}"
        )
        if not holder["head_known"]:
            yield "  the transaction may have begun before the first offset of this copy"
    if holder["marker_offset"] is not None:
        yield f"  decided as {holder['outcome']} at offset {holder['marker_offset']}"
    held = given.held_ms
    age = "" if held is None else f", {duration(held)} {'before' if held >= 0 else 'after'} the "
    age += "audit's moment" if age else ""
    told = "" if state["lso_since_ms"] is None else " (timestamp of its first batch)"
    yield f"  since {moment(state['lso_since_ms'])}{age}{told}"
    if given.behind:
        others = ", ".join(
            f"{row['first_offset']} (producer {row['producer_id']})" for row in given.behind
        )
        number = state["open_transactions"] - (holder["marker_offset"] is None)
        yield f"  {count(number, 'more open transaction')} after it, from offset {others}"


def _coordinator(given: Situation) -> Iterator[str]:
    owner = given.owner
    if owner is None:
        yield (
            "  no transactional id in the dump owns this producer id"
            if given.dumped
            else "  unknown: the dump has no __transaction_state"
        )
        return
    yield (
        f"  {printable(owner['transactional_id'])}: {owner['state'] or 'expired'}, producer "
        f"{owner['producer_id']}, epoch {owner['producer_epoch']}"
    )
    yield f"  {_timeout(owner)}, last update {moment(owner['last_update_ms'])}"
    running = owner["state"] == STATE_NAMES[ONGOING]
    if running and owner["start_ms"] is None:
        yield "  the text of kafka-dump-log does not show when it began"
    elif running and given.as_of_ms is not None:
        open_for = duration(given.as_of_ms - owner["start_ms"])
        yield f"  began {moment(owner['start_ms'])}, {open_for} before the audit's moment"
    yield f"  {_listed(owner, given.name)}"
    log = f"__transaction_state-{owner['partition']}"
    where = "" if owner["broker"] is None else f" on broker {owner['broker']}"
    yield f"  (record {owner['record_offset']} of {log}{where})"


def _timeout(owner: Row) -> str:
    if owner["timeout_ms"] == TWO_PHASE_COMMIT_TIMEOUT:
        return "no timeout (two-phase commit)"
    return f"timeout {duration(owner['timeout_ms'])}"


def _listed(owner: Row, name: str) -> str:
    partitions = owner["partitions"] or []
    if not partitions:
        return "it lists no partition"
    shown = ", ".join(printable(one) for one in partitions[:SHOWN_PARTITIONS])
    more = len(partitions) - SHOWN_PARTITIONS
    rest = f" and {more:,} more" if more > 0 else ""
    answer = "this one among them" if name in partitions else "this one is not among them"
    return f"it lists {shown}{rest}: {answer}"


def _found(
    title: str, rows: tuple[Row, ...], in_all: int, here: str | None = None
) -> Iterator[str]:
    """`here`: the partition whose offsets the rows have; None for their own.

    The message of a finding with several places has the offsets of its first place.
    """
    if not rows:
        yield f"{title}: none"
        return
    kinds = Counter((row["code"], row["verdict"], row["reason"]) for row in rows)
    yield f"{title}: {in_all:,}" + (f", the first {len(rows):,}" if in_all > len(rows) else "")
    for code, verdict, reason in kinds:
        yield f"  {code} ({verdict}{f': {reason}' if reason else ''})"
        for row in rows:
            if (row["code"], row["verdict"], row["reason"]) == (code, verdict, reason):
                where = f"{place(row)}, " if here is None else ""
                first = f"{row['topic']}-{row['partition']}"
                told = f" (told of {printable(first)})" if here not in (None, first) else ""
                yield f"    {where}{_offsets(row)}{told}: {printable(row['message'])}"


def _in_other_copies(given: Situation) -> Iterator[str]:
    """How many findings other copies have that this one has not, and how to see them."""
    if given.in_other_copies:
        yield "Further findings in other copies of this partition"
    for row in given.in_other_copies:
        broker = row["broker"]
        where = "a broker that is unknown" if broker is None else f"broker {broker}"
        proven = f", {row['proven']:,} proven" if row["proven"] else ""
        see = f"--broker {broker}" if row["has_state"] else "report.html"
        yield f"  on {where}: {row['findings']:,}{proven} (see {see})"


def _offsets(row: Row) -> str:
    first, last = row["offset_first"], row["offset_last"]
    if first is None:
        return "the whole partition"
    return f"offset {first}" if last in (None, first) else f"offsets {first} to {last}"
