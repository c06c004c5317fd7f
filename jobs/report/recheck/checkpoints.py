"""Claims about checkpoints and other small texts of a log directory."""

from itertools import pairwise

from jobs.report.recheck.cases import Case, Claim
from jobs.report.recheck.copies import Copy
from jobs.report.recheck.evidence import Proof, is_log
from jobs.report.recheck.results import UndecidedError


def checkpoint_beyond_end(name: str) -> Claim:
    """An entry of an offset checkpoint lies above the end of the log."""

    def claim(case: Case) -> bool | None:
        directory = case.log_directory()
        entry = case.dump.checkpoint(directory, name, case.place)
        topic, number = case.place
        copy = case.dump.copy(directory / f"{topic}-{number}")
        if entry is not None and entry <= copy.end:
            # A damaged batch does not count: only its checksum tells.
            copy = Copy(copy.folder, whole=True)
        # What cannot be read at the end is no log, as to a broker that starts.
        return entry is not None and entry > copy.end

    return claim


def mark_below_start(case: Case) -> bool | None:
    """The high watermark lies below the log start offset."""
    directory = case.log_directory()
    mark = case.dump.checkpoint(directory, "replication-offset-checkpoint", case.place)
    topic, number = case.place
    start = case.dump.copy(directory / f"{topic}-{number}").bases
    try:
        told = case.dump.checkpoint(directory, "log-start-offset-checkpoint", case.place)
    except UndecidedError:
        told = None
    return mark is not None and mark < max(told or 0, min(start, default=0))


def leader_epoch_differs(case: Case) -> bool | None:
    """The batch has another leader epoch than the leader-epoch-checkpoint has for its offset.

    Or its entries do not rise, or the log begins behind the first of them.
    """
    text = next(one for one in case.proofs if not is_log(one.file))
    batch = next((one.batch for one in case.proofs if is_log(one.file)), None)
    lines = [line.split() for line in text.path.read_text("utf-8", "replace").splitlines()[2:]]
    entries = [(int(one[0]), int(one[1])) for one in lines if len(one) == 2]
    case.dump.beside(f"the {text.path.name}")
    if any(b[0] <= a[0] or b[1] < a[1] for a, b in pairwise(entries)):
        return True
    if batch is None:
        bases = case.dump.copy(text.path.parent).bases
        return bool(entries) and entries[0][1] < min(bases, default=0)
    of_offset = [epoch for epoch, start in entries if start <= batch.base]
    return bool(of_offset) and of_offset[-1] != batch.leader


def property_of(proof: Proof, name: str) -> str | None:
    """A line of a small text."""
    for line in proof.data.decode("utf-8", "replace").splitlines():
        key, _, value = line.replace("=", ":", 1).partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def topic_ids_differ(case: Case) -> bool | None:
    """Two `partition.metadata` have different topic ids."""
    told = [property_of(one, "topic_id") for one in case.proofs]
    return None if len(told) < 2 or None in told else told[0] != told[-1]


def other_cluster(case: Case) -> bool | None:
    """A `meta.properties` has another cluster id than the finding expects."""
    told = property_of(case.proofs[-1], "cluster.id")
    return told is not None and told not in str(case.finding.get("expected")).split()
