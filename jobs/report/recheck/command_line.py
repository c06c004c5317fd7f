"""Checks the findings of an audit again from the bytes of the dump, and from nothing else.

    python3 recheck.py report.json DUMP [CODE ...] [--evidence-only]

DUMP is the folder that was audited (several: each once, in the same order). The findings are those
of report.json, or rows of the table `violation`: a JSON array, or a JSON object a line. Python
3.11 or newer is all that is needed: nothing of eosaudit is imported, so this file is a second
witness. Of each finding it tells

    confirmed    the bytes are those quoted, whole, and what the finding says follows from them
    holds        the bytes are those quoted and whole; the rest of what the finding says, no bytes
                 that were read can show (the reason is told)
    refuted      the bytes are others, or show something else
    undecided    the file is not there, is a text, or has a codec that this Python does not know
                 (zstd before 3.14)

It reads the evidence of a finding. That something is missing no evidence shows: for such a finding
it also reads all batch headers of the partition's copy (of markers all bytes), the records of
`__transaction_state`, or the one index, snapshot or checkpoint, and tells so in the line of the
finding. With --evidence-only it does not.

Exit code 1 where a finding was refuted, 3 where one is undecided or none was checked, 2 where the
command line or a file is wrong, else 0.
"""

import sys
from collections import Counter
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from jobs.report.recheck.claims import CLAIMS
from jobs.report.recheck.findings import recheck
from jobs.report.recheck.report_files import WANTED, AskedError, findings_of, moment_of
from jobs.report.recheck.results import REFUTED, UNDECIDED

EVIDENCE_ONLY = "--evidence-only"


class Asked(NamedTuple):
    """The command line; `codes`: the checks asked for, empty for all."""

    report: Path
    dumps: list[Path]
    codes: set[str]
    evidence_only: bool

    @classmethod
    def of(cls, arguments: list[str]) -> "Asked":
        """Raises AskedError where a word is none of these."""
        options = [one for one in arguments if one.startswith("-")]
        if wrong := [one for one in options if one != EVIDENCE_ONLY]:
            raise AskedError(f"{wrong[0]} is no option; see --help")
        words = [one for one in arguments if one not in options]
        if not words:
            raise AskedError("report.json and the folder of the dump are missing; see --help")
        report, *others = Path(words[0]), *words[1:]
        if not report.is_file():
            raise AskedError(f"{report} is not a file: {WANTED}")
        dumps = [Path(one) for one in others if Path(one).is_dir()]
        codes = {one for one in others if not Path(one).is_dir()}
        for one in sorted(codes - set(CLAIMS)):
            near = get_close_matches(one, CLAIMS, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise AskedError(f"{one} is neither a folder nor a check{meant}")
        if not dumps:
            raise AskedError("the folder of the dump is missing; see --help")
        return cls(report, dumps, codes, bool(options))


def main(arguments: list[str]) -> int:
    """Tells each finding in a line, and the numbers."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(__doc__ or "")
        return 0
    try:
        asked = Asked.of(arguments)
        findings, as_of = findings_of(asked.report), moment_of(asked.report)
    except AskedError as error:
        sys.stderr.write(f"recheck.py: {error}.\n")
        return 2
    chosen = [one for one in findings if not asked.codes or one["code"] in asked.codes]
    counts: Counter[str] = Counter()
    for one in chosen:
        result, why = recheck(one, asked.dumps, asked.evidence_only, as_of)
        counts[result] += 1
        place = f"{one.get('topic')}-{one.get('partition')} at {one.get('offset_first')}"
        sys.stdout.write(f"{result:9}  {one['code']}  {place}: {why}\n")
    if not chosen:
        of_checks = f" of {', '.join(sorted(asked.codes))}" if asked.codes else ""
        sys.stdout.write(f"nothing was checked: {asked.report} has no finding{of_checks}\n")
        return 3
    sys.stdout.write(
        ", ".join(f"{number} {result}" for result, number in sorted(counts.items())) + "\n"
    )
    return 1 if counts[REFUTED] else 3 if counts[UNDECIDED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
