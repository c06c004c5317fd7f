"""The one file `recheck.py`: the modules of `jobs.report.recheck`, joined, and nothing else."""

import ast
import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from jobs.model.found import PREPARE_RECORD
from jobs.report.recheck import command_line, evidence
from jobs.report.recheck_file import LAST, PACKAGE, WIDTH, recheck_file

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "jobs/report/recheck"
MODULES = sorted(path for path in FOLDER.glob("*.py") if path.name != "__init__.py")
HEADING = re.compile(r"^# --- (\w+) -+$", re.MULTILINE)


def statements(text: str) -> list[ast.stmt]:
    """What it has on its top level, without imports and docstring."""
    imports = ast.Import | ast.ImportFrom | ast.Expr
    return [one for one in ast.parse(text).body if not isinstance(one, imports)]


def names(text: str) -> list[str]:
    """What is defined on its top level."""
    found = []
    for one in statements(text):
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            found.append(one.name)
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            inside = (each for target in targets for each in ast.walk(target))
            found += [each.id for each in inside if isinstance(each, ast.Name)]
    return found


def imported(text: str) -> list[tuple[str, str, str | None]]:
    """Module, name and alias of each import, wherever it is."""
    found: list[tuple[str, str, str | None]] = []
    for one in ast.walk(ast.parse(text)):
        if isinstance(one, ast.Import):
            found += [(alias.name, "", alias.asname) for alias in one.names]
        elif isinstance(one, ast.ImportFrom):
            found += [(str(one.module), alias.name, alias.asname) for alias in one.names]
    return found


def test_it_compiles_and_its_docstring_is_the_usage() -> None:
    compile(recheck_file(), "recheck.py", "exec")
    assert ast.get_docstring(ast.parse(recheck_file()), clean=False) == command_line.__doc__
    assert recheck_file().endswith('if __name__ == "__main__":\n    sys.exit(main(sys.argv[1:]))\n')


def test_it_imports_the_standard_library_once_and_only_that() -> None:
    found = imported(recheck_file())
    assert len(found) == len(set(found))
    assert {module.partition(".")[0] for module, _, _ in found} <= sys.stdlib_module_names
    kinds = [isinstance(one, ast.Import | ast.ImportFrom) for one in ast.parse(recheck_file()).body]
    assert kinds[1:] == sorted(kinds[1:], reverse=True), "an import behind other lines"


def test_it_names_the_evidence_of_a_decision_as_findings_do() -> None:
    assert evidence.PREPARE_RECORD == PREPARE_RECORD


def test_each_module_is_in_it_once_below_what_it_is_about() -> None:
    assert sorted(HEADING.findall(recheck_file())) == [path.stem for path in MODULES]
    for path in MODULES:
        about = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()
        below = recheck_file().partition(f"\n# --- {path.stem} -")[2].splitlines()[1:]
        told = [] if path.stem == LAST else [f"# {one}".rstrip() for one in about]
        assert about and below[: len(told) + 1] == [*told, ""]


def test_its_names_are_those_of_the_modules_without_repetition() -> None:
    found = Counter(names(recheck_file()))
    assert [name for name, number in found.items() if number > 1] == []
    assert found == Counter(
        name for path in MODULES for name in names(path.read_text(encoding="utf-8"))
    )


def test_its_definitions_are_those_of_the_modules_with_their_comments() -> None:
    def lines(text: str) -> Counter[str]:
        first = statements(text)[0]
        return Counter(line for line in text.splitlines()[first.lineno - 1 :] if line)

    joined = lines(recheck_file())
    ours = sum((lines(path.read_text(encoding="utf-8")) for path in MODULES), Counter[str]())
    assert ours - joined == Counter()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_so_that_it_can_be_joined(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for module, name, alias in imported(text):
        ours = module.startswith(f"{PACKAGE}.") and name
        assert ours or module.partition(".")[0] in sys.stdlib_module_names, module
        assert alias is None, f"{module}: a name has no second one"
    kinds = [isinstance(one, ast.Import | ast.ImportFrom) for one in ast.parse(text).body[1:]]
    assert kinds == sorted(kinds, reverse=True), "an import behind other lines"


def test_it_is_the_same_out_of_a_zip_and_whatever_hashes_are(tmp_path: Path) -> None:
    """Spark runs the code out of a zip."""
    code = tmp_path / "code.zip"
    with zipfile.ZipFile(code, "w") as opened:
        beside = ("jobs/__init__.py", "jobs/report/__init__.py", "jobs/report/recheck_file.py")
        for path in [*FOLDER.glob("*.py"), *(ROOT / one for one in beside)]:
            opened.write(path, path.relative_to(ROOT))
    told = (
        f"import sys; sys.path.insert(0, {str(code)!r}); "
        "from jobs.report.recheck_file import recheck_file; sys.stdout.write(recheck_file())"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", told], capture_output=True, text=True, check=True
    )
    assert done.stdout == recheck_file()


def test_its_lines_are_no_longer_than_ours() -> None:
    assert max(map(len, recheck_file().splitlines())) <= WIDTH
