"""What became of a finding, and the errors that say so."""

CONFIRMED, HOLDS, REFUTED, UNDECIDED = "confirmed", "holds", "refuted", "undecided"


class RefutedError(Exception):
    """The bytes are not what the finding says."""


class UndecidedError(Exception):
    """The bytes cannot be read here."""


class HoldsError(Exception):
    """The bytes are right, and the rest cannot be shown; why."""


class MissingError(HoldsError):
    """So, as the dump lacks what would show it, or it cannot be read.

    `reasons`: of a finding that says just that, and is confirmed.
    """

    reasons: tuple[str, ...] = ("missing_range",)


class LostRecordsError(MissingError):
    """The same of records of the coordinator; it has no log behind what cannot be read."""

    reasons = ("missing_range", "txnlog_not_dumped", "dump_before_event")
