"""The command line: subcommands, options, and help that teaches."""

import argparse
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from jobs import __version__
from jobs.report.formats import FORMATS

# The format of `report` that goes to stdout; the others are files.
TEXT = "text"

PROGRAM = "./spark-submit.sh"
EXAMPLES = """examples:
  ./spark-submit.sh audit --dump /copies/broker-1 --out /audits
      one broker's log directory
  ./spark-submit.sh audit --dump /copies --out /audits --as-of 1795236470221
      a folder of brokers, copied at that moment (ms since 1970)
  ./spark-submit.sh --master spark://host:7077 -- audit --dump /copies --out /audits
      on a cluster: all executors must see both folders
  ./spark-submit.sh audit --dump /copies --out /audits --policy default
      and judge the result by the acceptance policy in conf/policy
"""
EXPLAIN_HELP = """example:
  ./spark-submit.sh explain --out /audits --topic orders --partition 3
      what holds back read_committed consumers there, and what to do about it
"""
EXIT_CODES = """exit codes:
  0  looked, nothing wrong
  1  at least one proven violation, or the acceptance policy is not met
  2  wrong arguments, configuration or input; nothing was written
  3  the audit is incomplete: a check crashed, a file could not be read, the acceptance policy
     could not be evaluated, or Spark broke down
"""
REPORT_HELP = """examples:
  ./spark-submit.sh report --out /audits
      the summary of the newest audit, on stdout
  ./spark-submit.sh report --out /audits --format html --dump /copies
      report.html again, with the bytes of the evidence taken from the dump
  ./spark-submit.sh report --out /audits --audit 0123… --format sarif --format junit --to DIR
      files for a pipeline, of a certain audit

The files are report.html, report.json, report.sarif (SARIF 2.1.0) and report.junit.xml, beside them
verdict.json, manifest.json (what each file is, by SHA-256) and SHA256SUMS; with --sign-key also
manifest.sig. To check them:
  sha256sum -c SHA256SUMS
  openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in manifest.json -sigfile manifest.sig

The exit code is that of the audit; 2 where there is no such audit.
"""
CHECKS_HELP = """examples:
  ./spark-submit.sh checks
      all codes, a line each, by family
  ./spark-submit.sh checks producer
      those of one family
  ./spark-submit.sh checks hanging_transaction
      what this finding proves, and when what it shows is legal
"""
DOCTOR_HELP = """examples:
  ./spark-submit.sh doctor
      this machine
  ./spark-submit.sh --master spark://host:7077 -- doctor --dump /copies --out /audits
      a cluster: every executor is asked, and must see the dump; a table is written on trial

exit codes:
  0  nothing is missing
  3  something is missing; each line says what to do
"""
# Smaller numbers are seconds: in ms they would be a day of 1973.
FIRST_MS = 100_000_000_000


class Parser(argparse.ArgumentParser):
    """Ends in one sentence that names the nearest spelling, instead of a page of usage."""

    _given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse, but an option that is unknown here is an error here."""
        self._given = list(args or [])
        parsed, extras = super().parse_known_args(args, namespace)
        if extras:
            self.error(f"{extras[0]} is no argument here{self._nearest(extras[0])}")
        return parsed, extras

    def error(self, message: str) -> NoReturn:
        """Says what is wrong and ends with exit code 2."""
        wrong = [word.partition("=")[0] for word in self._given if word.startswith("--")]
        mistyped = [word for word in wrong if word not in self._option_string_actions]
        if "required" in message and mistyped and self._nearest(mistyped[0]):
            message = f"{mistyped[0]} is no argument here{self._nearest(mistyped[0])}"
        if chosen := re.search(r"invalid choice: '?([^' ]*)", message):
            message += self._nearest(chosen[1])
        self.exit(2, f"eosaudit: {self.prog}: {message}; --help tells more.\n")

    def _nearest(self, word: str) -> str:
        choices = [str(c) for action in self._actions for c in action.choices or ()]
        known = [*self._option_string_actions, *choices]
        near = difflib.get_close_matches(word.partition("=")[0], known, n=1)
        return f" (did you mean {near[0]}?)" if near else ""


@dataclass
class Arguments(argparse.Namespace):
    """Parsed arguments of any subcommand; those of other subcommands keep their defaults."""

    command: str = ""
    dump: list[Path] = field(default_factory=list)
    out: str = ""
    as_of: int | None = None
    depth: str = "records"
    config: Path | None = None
    policy: str | None = None
    quiet: bool = False
    audit: str | None = None
    topic: str = ""
    partition: int = 0
    broker: int | None = None
    format: list[str] = field(default_factory=list)
    to: str | None = None
    sign_key: Path | None = None
    code: str | None = None


def parse(argv: list[str]) -> Arguments:
    """Parses a command line; ends with SystemExit (2, or 0 after --help) like argparse."""
    return parser().parse_args(argv, namespace=Arguments())


def parser() -> argparse.ArgumentParser:
    """The parser of all subcommands."""
    top = Parser(
        prog=PROGRAM,
        description="Verifies Kafka's exactly-once guarantees from what brokers have on disk.",
        epilog=f"{EXAMPLES}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"eosaudit {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="SUBCOMMAND")
    _add_audit(commands)
    _add_report(commands)
    _add_explain(commands)
    checks = _subcommand(commands, "checks", "list the checks, or print one's manual", CHECKS_HELP)
    checks.add_argument(
        "code", nargs="?", metavar="CODE", help="check code or family; without it all are listed"
    )
    _add_doctor(commands)
    return top


def _add_explain(commands: "argparse._SubParsersAction[Parser]") -> None:
    explain = _subcommand(
        commands,
        "explain",
        "say what holds back consumers of a partition, since when, and what to do",
        EXPLAIN_HELP,
    )
    explain.add_argument("--out", required=True, metavar="DIR", help="folder with the tables")
    explain.add_argument("--topic", required=True, help="topic name")
    explain.add_argument("--partition", required=True, type=int, help="partition number")
    explain.add_argument(
        "--broker", type=int, help="whose copy; default: the one with the highest log end"
    )
    explain.add_argument("--audit", metavar="ID", help="audit id (default: the newest audit)")


def _add_policy(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument(
        "--policy",
        metavar="DIR",
        help=f"folder of expectation suites, or `default` for conf/policy: {what}",
    )


def _subcommand(
    commands: "argparse._SubParsersAction[Parser]", name: str, does: str, epilog: str
) -> Parser:
    return commands.add_parser(
        name,
        help=does,
        description=f"{does[0].upper()}{does[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _folder(text: str) -> Path:
    """Executors have other working folders."""
    return Path(text).absolute()


def _milliseconds(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no number of ms since 1970") from None
    if value < FIRST_MS:
        raise argparse.ArgumentTypeError(f"{text} is too small: ms since 1970 are asked for")
    return value


def _add_doctor(commands: "argparse._SubParsersAction[Parser]") -> None:
    doctor = _subcommand(
        commands, "doctor", "say what is missing on this machine or cluster", DOCTOR_HELP
    )
    doctor.add_argument(
        "--dump",
        action="append",
        default=[],
        type=_folder,
        metavar="DIR",
        help="a folder that every executor must see; repeatable",
    )
    doctor.add_argument("--out", metavar="DIR", help="a folder that tables are to be written to")


def _add_audit(commands: "argparse._SubParsersAction[Parser]") -> None:
    audit = _subcommand(
        commands,
        "audit",
        "audit copies of brokers' log directories and write Delta tables",
        f"{EXAMPLES}\n{EXIT_CODES}",
    )
    audit.add_argument(
        "--dump",
        action="append",
        required=True,
        type=_folder,
        metavar="DIR",
        help="a broker's log directory, a folder of them, or one partition folder; repeatable "
        "(several log directories of one broker)",
    )
    audit.add_argument(
        "--out", required=True, metavar="DIR", help="folder of the Delta tables; made if missing"
    )
    audit.add_argument(
        "--as-of",
        type=_milliseconds,
        metavar="MS",
        help="moment of the dump, ms since 1970; ages are measured against it "
        "(default: the newest broker timestamp in the dump)",
    )
    audit.add_argument(
        "--depth",
        choices=("records", "headers"),
        default="records",
        help="headers skips what needs decompression (default: records)",
    )
    audit.add_argument(
        "--config", type=Path, metavar="FILE", help="TOML file; see conf/audit.toml for the keys"
    )
    _add_policy(audit, "judges the result by them too (docs/policy.md)")
    audit.add_argument("--quiet", action="store_true", help="no progress on stderr")
    _add_sign_key(audit)


def _add_report(commands: "argparse._SubParsersAction[Parser]") -> None:
    report = _subcommand(
        commands,
        "report",
        "tell the result of a finished audit again, and write its report",
        REPORT_HELP,
    )
    report.add_argument("--out", required=True, metavar="DIR", help="folder with the tables")
    report.add_argument("--audit", metavar="ID", help="audit id (default: the newest audit)")
    report.add_argument(
        "--format",
        action="append",
        choices=(TEXT, *FORMATS),
        help="text goes to stdout, the others are files; repeatable (default: text)",
    )
    report.add_argument(
        "--dump",
        action="append",
        type=_folder,
        metavar="DIR",
        help="where the dump lies now, given as to `audit`, to show the bytes of the evidence",
    )
    report.add_argument("--to", metavar="DIR", help="folder of the files (default: --out)")
    _add_policy(
        report, "judges the stored tables by them instead, and writes no table (docs/policy.md)"
    )
    _add_sign_key(report)


def _add_sign_key(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--sign-key",
        type=Path,
        metavar="FILE",
        help="Ed25519 private key (PEM): writes manifest.sig beside manifest.json; "
        "needs the package cryptography",
    )
