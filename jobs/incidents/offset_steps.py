"""Steps for `__consumer_offsets`: a group is set to an offset, and no record is written again.

A record that a client writes there is no commit of a group: brokers read the partition only when
they load it. And an output whose offset is lost is written twice, if its group goes on from there.
ENDS has these beside the steps for other topics.
"""

from jobs.incidents.signature import ABORTED, BLOCKED, ENDED_BY_MARKER, Step, end_steps
from jobs.model.commands import DESCRIBE_GROUP, SET_GROUP

# Only these may be commits whose output is there: of the others the output was aborted, too.
MAY_BE_COMMITTED = ("save_and_abort",)
NO_MEMBER = "the group has no active member"
READERS_NAMED = "explain --incident names them; the table affected_group has all (read, inside)"
NAMED = "explain --incident names them; the table affected_group has all (position own)"
DECIDED = (
    f"{NO_MEMBER}, the output of the transaction is committed, and the group's offset is lower "
    "than that of the command"
)


def of_clients(*steps: Step) -> tuple[Step, ...]:
    """The same steps, but not for `__consumer_offsets`, unless a marker is all that is needed."""
    return tuple(
        step if step.ended_by in ENDED_BY_MARKER else step._replace(offsets=False) for step in steps
    )


def stop_groups(*of: str) -> Step:
    """Before an offset is set: a member would commit its own."""
    return Step(
        "In __consumer_offsets: stop all members of the groups whose offsets are concerned; the "
        f"command lists them. {NAMED}",
        command=DESCRIBE_GROUP,
        check="the groups have no active members",
        of=of,
        offsets=True,
    )


def set_groups(*of: str) -> Step:
    """Where a group lacks a commit whose output is there."""
    return Step(
        "In __consumer_offsets: set each group to the offset of the commit that it lacks, so that "
        "it does not process that input a second time",
        command=SET_GROUP,
        before=DECIDED,
        check="kafka-consumer-groups.sh --describe shows these offsets",
        cannot="a commit that no copy has: compare the group's offset with its output",
        of=of,
        offsets=True,
    )


def start_groups(*of: str) -> Step:
    """After the others: a group goes on from the offset that it has."""
    return Step(
        "In __consumer_offsets: start the groups again",
        check="their members commit offsets",
        of=of,
        offsets=True,
    )


def _set_groups_back(*of: str) -> Step:
    """Where a group has a commit whose output was aborted."""
    return Step(
        "In __consumer_offsets: where the newest commit of a group is an aborted one, set the "
        "group back to its commit before that one. It skipped input whose output was aborted. "
        f"{NAMED}",
        before=f"{NO_MEMBER}, and the output of that transaction is aborted",
        check="kafka-consumer-groups.sh --describe shows these offsets",
        of=of,
        offsets=True,
    )


def correct_groups(lacking: str, wrongly: str) -> tuple[Step, ...]:
    """The steps for groups whose commits have the outcome of a wrong marker; none is open.

    `lacking`, `wrongly`: kinds of consequences: a group lacks a commit, or has an aborted one.
    """
    return (
        stop_groups(lacking, wrongly),
        set_groups(lacking),
        _set_groups_back(wrongly),
        start_groups(lacking, wrongly),
    )


def abort_offsets(*of: str, back: tuple[str, ...] = ()) -> tuple[Step, ...]:
    """The steps that end offset commits which hang, and set what is lacking of other kinds.

    A group whose commit was to be aborted goes on from the offset that it has. `back`: kinds of
    which a group has an aborted commit. Groups stand still until all of it is done.
    """
    kinds = (BLOCKED, *of)
    ends = end_steps(
        "In __consumer_offsets: abort the transaction",
        cannot="the offsets of a transaction that was committed: they are set afterwards",
    )
    # Records of a group are not saved: the offset that it lacks is set.
    ending = [step for step in ends if step.ended_by == ABORTED]
    return (
        stop_groups(*kinds, *back)._replace(ended_by=ABORTED),
        *(step._replace(offsets=True) for step in ending),
        set_groups(*kinds)._replace(ended_by=MAY_BE_COMMITTED),
        *((_set_groups_back(*back),) if back else ()),
        start_groups(*kinds, *back)._replace(ended_by=ABORTED),
    )


# What blocks readers is ended in the same way whatever caused it, if the signature has no own way.
ENDS = (
    *of_clients(
        *end_steps(
            "Abort the transaction",
            cannot="its records do not come back: read_committed consumers will never see them; "
            "save them first",
        )
    ),
    *abort_offsets(),
)
