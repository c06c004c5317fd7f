"""Rules of house-keeping that no linter has. Each names what to do instead, and is tested here."""

import ast
import re
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
LONGEST_FUNCTION = 70
LONGEST_LINE = 100
LARGEST_BLOB = 640 * 1024
CODE = ("jobs/", "schemas/", "udfs/")

# Modules that may bring rows to the driver, and why their number is bounded.
MAY_COLLECT = {
    "jobs/audit/write.py": "a row a copy of a partition: each task needs their names",
    "jobs/spark/delta_tables.py": "a row a file that a task has written",
    "jobs/audit/identity.py": "one digest a file, no more than the listing the driver holds anyway",
    "jobs/decode/cluster_metadata.py": "a row a topic, bounded ones a split",
    "jobs/audit/coverage.py": "one row of totals, and at most 100 named files",
    "jobs/cli/commands/doctor.py": "the distinct answers of the workers, one a host",
    "jobs/export/export.py": "one row a partition, no more than the driver's listing",
    "jobs/export/lacking.py": "one row a copy of exported topics, with bounded ranges",
    "jobs/export/lost_markers.py": "transactions whose marker is lost, MOST_TOLD of each source",
    "jobs/cli/commands/export.py": "one row of sums",
    "jobs/export/once.py": "one row a copy that is exported",
    "jobs/audit/finished.py": "one audit, or at most 20 names to choose from",
    "jobs/cli/commands/explain.py": "one partition: a bounded number of its rows and findings",
    "jobs/audit/incidents.py": "one copy of each partition of __consumer_offsets",
    "jobs/incidents/consequences.py": "copies whose last stable offset an incident holds",
    "jobs/incidents/incidents.py": "sums an incident, and MOST_PLACES of each kind",
    "jobs/incidents/events.py": "MOST_AT_AN_END of each incident and event",
    "jobs/incidents/groups.py": "MOST_RANGES of __consumer_offsets",
    "jobs/incidents/leaders.py": "a row a copy of incidents, and one a split of some of them",
    "jobs/incidents/lineage.py": "partitions of incidents, and sums of the MOST_READS applications",
    "jobs/incidents/lost.py": "copies that another one outlived, no more than the listing; "
    "MOST_READ_AGAIN transactions that they have in part",
    "jobs/incidents/sent_again.py": "MOST_SENT batches of copies that another one outlived",
    "jobs/incidents/ranges.py": "MOST_READ_AGAIN transactions between whose batches others lie",
    "jobs/model/decoded.py": "epochs in blocks, bounded by MOST_CHOSEN",
    "jobs/decode/plain_epochs.py": "one row of sums, and epochs that are bounded by MOST_CHOSEN",
    "jobs/decode/decode.py": "one row a kind of row, and the few files whose splits were given up",
    "jobs/replay/aborted_lists.py": "three rows a partition: how many aborts and entries agree",
    "jobs/report/gather.py": "aggregates and examples, each with its bound (MAX_…)",
    "jobs/report/incidents.py": "MAX_INCIDENTS, and MAX_… of each of them",
    "jobs/report/history.py": "one row of sums, and at most LONGEST_HISTORY audits",
    "jobs/report/timelines.py": "MAX_TRANSACTIONS of each of MAX_TIMELINES partitions",
    "jobs/verify/run.py": "one row a context: which of its checks fire at all",
    "jobs/verify/verify.py": "one row per code, severity and verdict",
}
MAY_TOUCH_DELTA = {"jobs/spark/delta_tables.py": "the only module that reads and writes Delta"}

# Put together here, so that this file does not break its own rules.
LEFTOVERS = re.compile(
    r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b"
)
MACHINE_PATHS = re.compile(r"(?<![\w.~}/-])/(work|root|home)/")
REGISTRIES = re.compile(
    r"\b(pypi|files\.pythonhosted|test\.pypi|anaconda)\.org|repo1?\.maven\b|\bmaven\.apache"
    r"|\bregistry\.npmjs|\b(static\.|index\.)?crates\.io|\bproxy\.golang|\bdeb\.debian"
)

Rule = Callable[[str, str], Iterable[str]]  # path and text to complaints


class Forbidden(NamedTuple):
    """A call that only some modules may make."""

    call: str
    matches: Callable[[ast.Call], bool]
    instead: str
    allowed: dict[str, str]


def calls_method(name: str, *owners: str) -> Callable[[ast.Call], bool]:
    """Matches OWNER.name(…), or ANYTHING.name() without arguments where no owner is given."""

    def matches(call: ast.Call) -> bool:
        if not isinstance(call.func, ast.Attribute) or call.func.attr != name:
            return False
        if not owners:
            return not call.args and not call.keywords
        return ast.unparse(call.func.value) in owners

    return matches


def is_print(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "print"


def is_delta_format(call: ast.Call) -> bool:
    named = isinstance(call.func, ast.Attribute) and call.func.attr in ("format", "using")
    return named and [ast.unparse(argument) for argument in call.args] == ["'delta'"]


def joins_inside(call: ast.Call) -> bool:
    """frame.join(other, on=...) that is an inner one; text.join(words) has no `on`."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    how = given.get("how")
    inner = how is None or (isinstance(how, ast.Constant) and how.value == "inner")
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "join"
        and ("on" in given and inner)
    )


def reads_to_the_end(call: ast.Call) -> bool:
    named = isinstance(call.func, ast.Attribute) and call.func.attr == "rowsBetween"
    return named and ast.unparse(call.args[-1]) == "Window.unboundedFollowing"


FORBIDDEN = (
    Forbidden(
        "Window.unboundedFollowing",
        reads_to_the_end,
        "order backwards up to the row: Spark reads such a frame anew for each of its rows",
        {"jobs/decode/decode.py": "the splits of one file"},
    ),
    Forbidden(
        ".collect()",
        calls_method("collect"),
        "aggregate in Spark; where few rows are certain, say why in MAY_COLLECT",
        MAY_COLLECT,
    ),
    Forbidden(
        ".toArrow()",
        calls_method("toArrow"),
        "stay in Spark; where few rows are certain, say why in MAY_COLLECT",
        {
            "jobs/spark/delta_by_driver.py": "tables of an audit whose rows one task goes through",
            "jobs/policy/subjects.py": "bounded by TABLE_ROWS and VIEW_ROWS",
            "jobs/audit/torn_epochs.py": "two numbers a transaction, bounded by MOST_CHOSEN",
            "jobs/replay/aborted_lists.py": "three numbers a transaction that is not regular, "
            "bounded by MOST_LONG",
        },
    ),
    Forbidden(
        "an inner .join()",
        joins_inside,
        "inner() in jobs/spark/joins.py: Spark would shuffle what is in one task behind it",
        {
            "jobs/spark/joins.py": "the only module that makes inner joins of an audit",
            "jobs/export/export.py": "records of all sizes",
            "jobs/cli/commands/export.py": "records of all sizes",
        },
    ),
    Forbidden(".toPandas()", calls_method("toPandas"), "stay in Spark, or use mapInArrow", {}),
    Forbidden("print(", is_print, "tell() in jobs/main.py for results, Progress for progress", {}),
    Forbidden(
        "datetime.now",
        calls_method("now", "datetime", "datetime.datetime"),
        "take the moment as a parameter (--as-of): the same input gives the same rows",
        {},
    ),
    Forbidden(
        "time.time(",
        calls_method("time", "time"),
        "take the moment as a parameter; for durations time.monotonic()",
        {},
    ),
    Forbidden(
        'format("delta")',
        is_delta_format,
        "read and write through jobs/spark/delta_tables.py",
        MAY_TOUCH_DELTA,
    ),
)


# --- the rules ----------------------------------------------------------------------------------


def short_functions(path: str, text: str) -> Iterable[str]:
    if not path.endswith(".py"):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield (
                    f"{path}:{node.lineno}: {node.name} has {lines} lines, "
                    f"{LONGEST_FUNCTION} are allowed: split it where its comments are"
                )


def short_lines(path: str, text: str) -> Iterable[str]:
    if not path.endswith(".py"):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_LINE:
            yield f"{path}:{number}: {len(line)} characters, {LONGEST_LINE} are allowed: make fmt"


def no_forbidden_calls(path: str, text: str) -> Iterable[str]:
    if not path.endswith(".py") or not path.startswith(CODE):
        return
    for node in ast.walk(ast.parse(text)):
        for rule in FORBIDDEN:
            if isinstance(node, ast.Call) and rule.matches(node) and path not in rule.allowed:
                yield f"{path}:{node.lineno}: {rule.call} is not for this module: {rule.instead}"


def no_relative_imports(path: str, text: str) -> Iterable[str]:
    if not path.endswith(".py"):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield f"{path}:{node.lineno}: relative import: write the whole name, from jobs.… import"


def nothing_left_over(path: str, text: str) -> Iterable[str]:
    yield from matching_lines(path, text, LEFTOVERS, "do it now or file an issue")


def no_machine_paths(path: str, text: str) -> Iterable[str]:
    yield from matching_lines(path, text, MACHINE_PATHS, "name no folder of one machine")


def no_registry_hosts(path: str, text: str) -> Iterable[str]:
    yield from matching_lines(path, text, REGISTRIES, "name the package, not where it comes from")


def matching_lines(path: str, text: str, pattern: re.Pattern[str], advice: str) -> Iterable[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := pattern.search(line):
            yield f"{path}:{number}: {found.group().strip()}: {advice}"


RULES: tuple[Rule, ...] = (
    short_functions,
    short_lines,
    no_forbidden_calls,
    no_relative_imports,
    nothing_left_over,
    no_machine_paths,
    no_registry_hosts,
)


# --- over this repository -----------------------------------------------------------------------


def files(*options: str) -> list[str]:
    """Files git knows of; the whole test is skipped where there is no repository."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", *options], capture_output=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    names = listed.stdout.decode().split("\0")
    return sorted({name for name in names if name and (ROOT / name).is_file()})


def is_ours(name: str) -> bool:
    """Text that we write: no recorded dumps, failures and goldens, no license, no lock file."""
    recorded = ("tests/dumps/", "tests/fuzz/failures/", "tests/golden/")
    return not name.startswith(recorded) and name != "LICENSE"


def texts() -> Iterable[tuple[str, str]]:
    for name in files("--cached", "--others", "--exclude-standard"):
        content = (ROOT / name).read_bytes()
        if is_ours(name) and b"\0" not in content:
            yield name, content.decode("utf-8")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_repository_keeps(rule: Rule) -> None:
    complaints = [complaint for path, text in texts() for complaint in rule(path, text)]
    assert not complaints, "\n" + "\n".join(complaints)


def test_no_large_blob_is_tracked() -> None:
    sizes = {name: (ROOT / name).stat().st_size for name in files("--cached")}
    large = [
        f"{name}: {size:,} bytes, {LARGEST_BLOB:,} are allowed: generate it, or keep it elsewhere"
        for name, size in sizes.items()
        if size > LARGEST_BLOB and not name.startswith("tests/dumps/")
    ]
    assert not large, "\n" + "\n".join(large)


def test_every_allowance_is_still_needed() -> None:
    idle = []
    for rule in FORBIDDEN:
        for path in rule.allowed:
            file = ROOT / path
            tree = ast.parse(file.read_text("utf-8")) if file.is_file() else ast.Module([], [])
            calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
            if not any(rule.matches(call) for call in calls):
                idle.append(f"{path} makes no {rule.call} any more: take it off the list")
    assert not idle, "\n" + "\n".join(idle)


def test_every_package_folder_has_an_init() -> None:
    code = [PurePosixPath(name) for name in files("--cached", "--others", "--exclude-standard")]
    folders = {p.parent for p in code if p.suffix == ".py" and str(p).startswith(CODE)}
    missing = sorted(str(f) for f in folders if not (ROOT / f / "__init__.py").is_file())
    assert not missing, f"no __init__.py in {', '.join(missing)}: not seen in the zip and by tools"


# --- each rule on a snippet ---------------------------------------------------------------------

LONG_FUNCTION = "def f():\n" + "    pass\n" * LONGEST_FUNCTION
SNIPPETS = [
    (short_functions, LONG_FUNCTION, LONG_FUNCTION.replace("    pass\n", "", 1)),
    (short_lines, "x = '" + "y" * LONGEST_LINE + "'", "x = 'y'"),
    (no_forbidden_calls, "rows = frame.collect()", "dump = collect(paths)"),
    (no_forbidden_calls, "frame.limit(3).toPandas()", "frame.toPandas"),
    (no_forbidden_calls, "frame.toArrow()", "frame.toArrow"),
    (no_forbidden_calls, "a.join(b, on='x')", "a.join(b, on='x', how='left')"),
    (no_forbidden_calls, "a.join(b, on='x', how='inner')", "', '.join(words)"),
    (no_forbidden_calls, "print('x')", "self.print('x')"),
    (no_forbidden_calls, "datetime.now(UTC)", "clock.now()"),
    (no_forbidden_calls, "datetime.datetime.now()", "datetime.fromtimestamp(ms)"),
    (no_forbidden_calls, "time.time()", "time.monotonic()"),
    (no_forbidden_calls, "frame.write.format('delta')", "'{}'.format(delta)"),
    (no_relative_imports, "from . import x", "from jobs import x"),
    (no_relative_imports, "from ..a import x", "from jobs.a import x"),
    (nothing_left_over, "x = 1  # TO" + "DO later", "# todos os dias"),
    (nothing_left_over, "# FIX" + "ME", "# a fix"),
    (no_machine_paths, "path = '/wo" + "rk/main'", "path = 'net/work/main'"),
    (no_machine_paths, "see /ho" + "me/me/x", "see ~/x and $HOME/home/x"),
    (no_registry_hosts, "pip install -i https://py" + "pi.org/simple", "pip install pyspark"),
    (no_registry_hosts, "https://repo1.ma" + "ven.org/x", "the maven cache"),
]


@pytest.mark.parametrize(("rule", "bad", "good"), SNIPPETS)
def test_a_rule_complains_of_the_bad_and_not_of_the_good(rule: Rule, bad: str, good: str) -> None:
    assert len(list(rule("jobs/x.py", bad))) == 1
    assert list(rule("jobs/x.py", good)) == []


def test_an_allowed_module_may_collect() -> None:
    assert list(no_forbidden_calls("jobs/report/gather.py", "frame.collect()")) == []


def test_complaints_name_the_place_and_the_replacement() -> None:
    (complaint,) = no_forbidden_calls("udfs/x.py", "import time\n\nnow = time.time()\n")
    assert complaint.startswith("udfs/x.py:3: time.time(")
    assert "time.monotonic()" in complaint
