"""The command line: subcommands, options, and help that teaches."""

import argparse
import difflib
import errno
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from jobs import __version__
from jobs.cli.help import (
    CHECKS_HELP,
    DOCTOR_HELP,
    EXAMPLES,
    EXIT_CODES,
    EXPLAIN_HELP,
    EXPORT_HELP,
    REPORT_HELP,
)
from jobs.report.formats import FORMATS
from schemas.record import READ_COMMITTED, READ_UNCOMMITTED
from udfs.storage.dump_path import DumpPath, dump_at
from udfs.storage.places import SCHEMES, has_password, is_remote, nearest_there, redacted, scheme
from udfs.wire.bounds import LATEST

# The format of `report` that goes to stdout; the others are files.
TEXT = "text"

PROGRAM = "./spark-submit.sh"
LACKING = "the following arguments are required"
# A folder of a partition: topic and number.
FOLDER_NAME = re.compile(r"(.+)-(\d+)")
# Smaller numbers are seconds: in ms they would be a day of 1973.
FIRST_MS = 100_000_000_000
RATE = re.compile(r"\d+(\.\d+)?[kMG]?")
SERVER = re.compile(r"[^\s:]+:\d{1,5}|\[[0-9A-Fa-f:.%]+\]:\d{1,5}")


class Parser(argparse.ArgumentParser):
    """Ends in one sentence that names the nearest spelling, instead of a page of usage."""

    _given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse, but an option that is unknown here is an error here."""
        self._given = list(args or [])
        parsed, extras = super().parse_known_args(args, namespace)
        if extras:
            self.error(f"{extras[0]} is not an argument here{self._nearest(extras[0])}")
        return parsed, extras

    def error(self, message: str) -> NoReturn:
        """Says what is wrong and ends with exit code 2."""
        wrong = [word.partition("=")[0] for word in self._given if word.startswith("--")]
        mistyped = [word for word in wrong if word not in self._option_string_actions]
        if "required" in message and mistyped and self._nearest(mistyped[0]):
            message = f"{mistyped[0]} is not an argument here{self._nearest(mistyped[0])}"
        elif message.startswith(LACKING):
            message += "".join(self._lacking_choices())
        if chosen := re.search(r"invalid choice: '?([^' ]*)", message):
            message += self._nearest(chosen[1])
        self.exit(2, f"eosaudit: {self.prog}: {message}; see --help.\n")

    def _lacking_choices(self) -> Iterator[str]:
        """Options of which one must be given: argparse tells them only when all else is there."""
        words = {word.partition("=")[0] for word in self._given}
        for group in self._mutually_exclusive_groups:
            options = [one.option_strings[0] for one in group._group_actions]
            if group.required and words.isdisjoint(options):
                yield f", and {' or '.join(options)}"

    def _nearest(self, word: str) -> str:
        choices = [str(c) for action in self._actions for c in action.choices or ()]
        known = [*self._option_string_actions, *choices]
        near = difflib.get_close_matches(word.partition("=")[0], known, n=1)
        return f" (did you mean {near[0]}?)" if near else ""


@dataclass
class Arguments(argparse.Namespace):
    """Parsed arguments of any subcommand; those of other subcommands keep their defaults."""

    command: str = ""
    dump: list[DumpPath] = field(default_factory=list)
    bootstrap: str | None = None
    command_config: Path | None = None
    cache: Path | None = None
    jobs: str | None = None
    max_rate: str | None = None
    out: str = ""
    as_of: int | None = None
    depth: str = "records"
    config: Path | None = None
    policy: str | None = None
    quiet: bool = False
    audit: str | None = None
    topic: str = ""
    topics: list[str] = field(default_factory=list)
    partitions: list[int] = field(default_factory=list)
    isolation: str = READ_COMMITTED
    to_log_end: bool = False
    partition: int | None = None
    incident: int | None = None
    broker: int | None = None
    format: list[str] = field(default_factory=list)
    to: str | None = None
    sign_key: Path | None = None
    code: str | None = None


def parse(argv: list[str]) -> Arguments:
    """Parses a command line; ends with SystemExit (2, or 0 after --help) like argparse."""
    made = parser()
    arguments = made.parse_args(argv, namespace=Arguments())

    def refuse(message: str) -> NoReturn:
        made.exit(2, f"eosaudit: {PROGRAM} {arguments.command}: {message}; see --help.\n")

    lacks_place = not arguments.topic or arguments.partition is None
    if arguments.command == "explain" and arguments.incident is None and lacks_place:
        folder = FOLDER_NAME.fullmatch(arguments.topic)
        meant = f" (did you mean --topic {folder[1]} --partition {folder[2]}?)" if folder else ""
        refuse(f"{LACKING}: --topic and --partition, or --incident{meant}")
    if arguments.command == "explain" and arguments.incident is not None:
        for name in ("topic", "partition", "broker"):
            if getattr(arguments, name) not in ("", None):
                refuse(f"--{name} does not go with --incident, which is about all its partitions")
    if arguments.command == "audit" and arguments.bootstrap is None:
        for name in ("command_config", "cache", "topics", "jobs", "max_rate"):
            if getattr(arguments, name):
                refuse(f"--{name.replace('_', '-')} goes only with --bootstrap")
    if arguments.command == "export" and arguments.partitions and not arguments.topics:
        refuse("--partition goes only with --topic, whose partition it is")
    # A copy that is named twice is one copy.
    arguments.dump = list(dict.fromkeys(arguments.dump or []))
    if loop := next((dump for dump in arguments.dump if _is_loop(dump)), None):
        refuse(f"--dump {loop} is a loop of symbolic links; name the folder that is meant")
    if arguments.out and not is_remote(arguments.out) and _is_loop(Path(arguments.out)):
        refuse(f"--out {arguments.out} is a loop of symbolic links; name another folder")
    if file := _file_in(arguments.out):
        refuse(f"--out {arguments.out} cannot be a folder: {file} is a file; name another one")
    if arguments.command in ("audit", "export") and (dump := _dump_around(arguments)):
        refuse(
            f"--out {arguments.out} lies in the dump {dump}, so the next run would read its tables "
            "as a part of the copy; name a folder outside of it"
        )
    return arguments


def _is_loop(place: DumpPath) -> bool:
    """Whether symbolic links on the way to a place of this machine end in themselves."""
    try:
        if isinstance(place, Path):
            place.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _dump_around(arguments: Arguments) -> DumpPath | None:
    """The dump on this machine in which the results would lie."""
    if is_remote(arguments.out):
        return None
    out = Path(arguments.out).resolve()
    local = (dump for dump in arguments.dump if isinstance(dump, Path))
    return next((dump for dump in local if out.is_relative_to(dump.resolve())), None)


def _file_in(out: str) -> Path | None:
    """The file that stands where a folder on this machine is to be, or in the way to it."""
    if not out or is_remote(out):
        return None
    there = nearest_there(Path(out).absolute())
    return None if there.is_dir() else there


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
    _add_export(commands)
    checks = _subcommand(
        commands, "checks", "list the checks, or print the manual of one", CHECKS_HELP
    )
    checks.add_argument(
        "code", nargs="?", metavar="CODE", help="check code or family; default: list all"
    )
    _add_doctor(commands)
    return top


def _add_explain(commands: "argparse._SubParsersAction[Parser]") -> None:
    explain = _subcommand(
        commands,
        "explain",
        "show what blocks consumers of a partition, or what an incident did, and what to do",
        EXPLAIN_HELP,
    )
    explain.add_argument(
        "--out", required=True, type=_folder, metavar="DIR", help="folder with the tables"
    )
    explain.add_argument(
        "--incident", type=int, metavar="N", help="explain this incident instead of a partition"
    )
    explain.add_argument("--topic", default="", help="topic name")
    explain.add_argument("--partition", type=int, help="partition number")
    explain.add_argument(
        "--broker",
        type=int,
        help="broker whose copy to explain (default: the longest one of the newest leader epoch)",
    )
    explain.add_argument("--audit", metavar="ID", help="audit id (default: the newest audit)")


def _add_export(commands: "argparse._SubParsersAction[Parser]") -> None:
    export = _subcommand(
        commands,
        "export",
        "write the records that a consumer would receive to a Delta table",
        EXPORT_HELP,
    )
    _add_dump(export)
    export.add_argument(
        "--out",
        required=True,
        type=_folder,
        metavar="DIR",
        help="folder of the table `record`; made if missing",
    )
    export.add_argument(
        "--isolation",
        choices=(READ_COMMITTED, READ_UNCOMMITTED),
        default=READ_COMMITTED,
        help=f"isolation.level of the consumer (default: {READ_COMMITTED})",
    )
    export.add_argument(
        "--to-log-end",
        action="store_true",
        help="also what lies above the high watermark, as if it were the log end",
    )
    export.add_argument(
        "--topic",
        action="append",
        default=[],
        dest="topics",
        metavar="TOPIC",
        help="topic name; repeatable (default: all but internal topics)",
    )
    export.add_argument(
        "--partition",
        action="append",
        default=[],
        type=int,
        dest="partitions",
        metavar="N",
        help="partition number of each --topic; repeatable (default: all)",
    )
    export.add_argument(
        "--broker",
        type=int,
        help="broker whose copies to export (default: of each partition the furthest copy)",
    )
    _add_config(export)


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


def _folder(text: str) -> str:
    # Of a variable that is not set: the folder of the caller is not meant.
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; name a folder")
    return text


def _dump(text: str) -> DumpPath:
    _folder(text)
    if has_password(text):
        raise argparse.ArgumentTypeError(
            f"{redacted(text)} contains a key or password. All users of this machine can read "
            "command lines; set it in the environment or a profile instead"
        )
    if is_remote(text) and scheme(text) not in SCHEMES:
        known = ", ".join(f"{one}://" for one in SCHEMES)
        raise argparse.ArgumentTypeError(
            f"{redacted(text)} cannot be read: a dump is a folder, or a URL that begins with "
            f"{known}"
        )
    return dump_at(text)


def _servers(text: str) -> str:
    for server in text.split(","):
        if not SERVER.fullmatch(server.strip()):
            raise argparse.ArgumentTypeError(
                f"{server.strip()!r} is not HOST:PORT, such as kafka-1:9092"
            )
    return text


def _rate(text: str) -> str:
    if not RATE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text} is not a number of bytes a second, such as 20M")
    return text


def _milliseconds(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text} is not a number of ms since 1970; date -d '2026-01-31 20:00 UTC' +%s000 "
            "prints one"
        ) from None
    if value < FIRST_MS:
        raise argparse.ArgumentTypeError(f"{text} is too small: expected ms since 1970")
    if value > LATEST:
        raise argparse.ArgumentTypeError(f"{text[:40]} is too large: expected ms since 1970")
    return value


def _add_doctor(commands: "argparse._SubParsersAction[Parser]") -> None:
    doctor = _subcommand(
        commands, "doctor", "check what is missing on this machine or cluster", DOCTOR_HELP
    )
    doctor.add_argument(
        "--dump",
        action="append",
        default=[],
        type=_dump,
        metavar="DIR",
        help="dump that every executor must be able to read (folder or URL); repeatable",
    )
    doctor.add_argument(
        "--out", type=_folder, metavar="DIR", help="folder in which tables are to be written"
    )


def _add_audit(commands: "argparse._SubParsersAction[Parser]") -> None:
    audit = _subcommand(
        commands,
        "audit",
        "audit copies of brokers' log directories and write Delta tables",
        f"{EXAMPLES}\n{EXIT_CODES}",
    )
    source = audit.add_mutually_exclusive_group(required=True)
    _add_dump(source, required=False)
    source.add_argument(
        "--bootstrap",
        type=_servers,
        metavar="HOST:PORT[,…]",
        help="brokers of a live cluster, instead of --dump: a dump is fetched over the Kafka "
        "protocol, and nothing in the cluster is changed (docs/live-clusters.md)",
    )
    audit.add_argument(
        "--out",
        required=True,
        type=_folder,
        metavar="DIR",
        help="folder of the Delta tables; made if missing",
    )
    _add_live(audit)
    audit.add_argument(
        "--as-of",
        type=_milliseconds,
        metavar="MS",
        help="moment of the dump, ms since 1970; ages are measured against it "
        "(default: the newest broker timestamp in the dump; with --bootstrap: the start of the "
        "fetch)",
    )
    audit.add_argument(
        "--depth",
        choices=("records", "headers"),
        default="records",
        help="headers: skip the checks that need decompressed records (default: records)",
    )
    _add_policy(audit, "also evaluate these suites (docs/policy.md)")
    _add_config(audit)
    _add_sign_key(audit)


def _add_live(audit: argparse.ArgumentParser) -> None:
    live = audit.add_argument_group(
        "with --bootstrap", "Options of scripts/take_dump.py; see its --help."
    )
    live.add_argument(
        "--command-config",
        type=Path,
        metavar="FILE",
        help="client.properties of Kafka's own tools: TLS and SASL",
    )
    live.add_argument(
        "--cache",
        type=Path,
        metavar="DIR",
        help="folder of the fetched dump; a later audit with the same folder fetches only what is "
        "new (default: the folder `fetched` in --out)",
    )
    live.add_argument(
        "--topics",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="only these topics and the internal topics (default: all)",
    )
    live.add_argument("--jobs", metavar="N", help="partitions fetched at once (default: 2)")
    live.add_argument(
        "--max-rate", type=_rate, metavar="RATE", help="most bytes a second, such as 20M"
    )


def _add_dump(command: "argparse._ActionsContainer", required: bool = True) -> None:
    command.add_argument(
        "--dump",
        action="append",
        required=required,
        default=[],
        type=_dump,
        metavar="DIR",
        help="a broker's log directory, a folder of log directories, one partition folder, or "
        "texts of kafka-dump-log (a file or a folder: docs/text-dumps.md); also s3://, gs:// or "
        "hdfs:// (docs/remote-dumps.md); repeatable (several log directories of one broker)",
    )


def _add_config(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--config", type=Path, metavar="FILE", help="TOML file; see conf/audit.toml for the keys"
    )
    command.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _add_report(commands: "argparse._SubParsersAction[Parser]") -> None:
    report = _subcommand(
        commands,
        "report",
        "print the result of a finished audit again, and write its report",
        REPORT_HELP,
    )
    report.add_argument(
        "--out", required=True, type=_folder, metavar="DIR", help="folder with the tables"
    )
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
        type=_dump,
        metavar="DIR",
        help="current location of the dump, as for `audit`, to show the bytes of the evidence",
    )
    report.add_argument(
        "--to",
        type=_folder,
        metavar="DIR",
        help="folder of the files (default: --out, which is for the newest audit only)",
    )
    report.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="TOML file, of which only examples_per_code counts here (default: as many as the "
        "audit has shown)",
    )
    _add_policy(
        report, "evaluate these suites on the stored tables; no table is written (docs/policy.md)"
    )
    _add_sign_key(report)


def _add_sign_key(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--sign-key",
        type=Path,
        metavar="FILE",
        help="Ed25519 private key (PEM): also write manifest.sig (needs the package cryptography)",
    )


if __name__ == "__main__":
    # Only whether they can be taken, for who would start Java with them.
    parse(sys.argv[1:])
