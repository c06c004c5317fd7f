"""The command line: subcommands, options, and help that teaches."""

import argparse
from dataclasses import dataclass, field
from pathlib import Path

from jobs import __version__
from jobs.report.formats import FORMATS

# The format of `report` that goes to stdout; the others are files.
TEXT = "text"

EXAMPLES = """examples:
  eosaudit audit --dump /copies/broker-1 --out /audits
      one broker's log directory
  eosaudit audit --dump /copies --out /audits --as-of 1795236470221
      a folder of brokers, copied at that moment (ms since 1970)
  eosaudit audit --dump /copies --out /audits --policy default
      and judge the result by the acceptance policy in conf/policy
  eosaudit explain --out /audits --topic orders --partition 3
      what holds back read_committed consumers there, and what to do about it
  eosaudit checks hanging_transaction
      what a finding of this check proves, and when it is legal

exit codes:
  0  looked, nothing wrong
  1  at least one proven violation, or the acceptance policy is not met
  2  wrong arguments, configuration or input; nothing was written
  3  the audit is incomplete: a check crashed, a file could not be read, or the acceptance
     policy could not be evaluated
"""

REPORT_EXAMPLES = """examples:
  eosaudit report --out /audits
      the summary of the newest audit, on stdout
  eosaudit report --out /audits --format html --dump /copies
      report.html again, with the bytes of the evidence taken from the dump
  eosaudit report --out /audits --audit 0123… --format sarif --format junit --to build/reports
      files for a pipeline, of a certain audit

The files are report.html, report.json, report.sarif (SARIF 2.1.0) and report.junit.xml, beside them
verdict.json, manifest.json (what each file is, by SHA-256) and SHA256SUMS; with --sign-key also
manifest.sig. To check them:
  sha256sum -c SHA256SUMS
  openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in manifest.json -sigfile manifest.sig

The exit code is that of the audit; 2 where there is no such audit.
"""


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
    top = argparse.ArgumentParser(
        prog="eosaudit",
        description="Verifies Kafka's exactly-once guarantees from what brokers have on disk.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"eosaudit {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="SUBCOMMAND")
    _add_audit(commands)
    _add_report(commands)
    _add_explain(commands)
    checks = commands.add_parser("checks", help="list the checks, or print one check's manual")
    checks.add_argument("code", nargs="?", help="check code; without it all are listed")
    commands.add_parser("doctor", help="what is missing on this machine or cluster")
    return top


def _add_explain(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    explain = commands.add_parser(
        "explain",
        help="say what holds back consumers of a partition, since when, and what to do",
        description="Explains the last stable offset of one partition from the tables of a "
        "finished audit: which transaction holds it, who owns it, what its coordinator says, "
        "what waits behind it, and what to do.",
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


def _add_audit(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    audit = commands.add_parser(
        "audit",
        help="audit a dump and write the tables",
        description="Audits copies of brokers' log directories and writes Delta tables.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    audit.add_argument(
        "--dump",
        action="append",
        required=True,
        type=Path,
        metavar="DIR",
        help="a broker's log directory, a folder of them, or one partition folder; repeatable "
        "(several log directories of one broker)",
    )
    audit.add_argument(
        "--out", required=True, metavar="DIR", help="folder of the Delta tables; made if missing"
    )
    audit.add_argument(
        "--as-of",
        type=int,
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


def _add_report(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    report = commands.add_parser(
        "report",
        help="tell the result of a finished audit again, and write its report",
        description="Tells the result of a finished audit again, from its tables.",
        epilog=REPORT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
        type=Path,
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
