"""The identity of an audit is also that of the code, in a folder or in a zip."""

import shutil
import subprocess
import sys
from pathlib import Path

from jobs.audit.identity import PACKAGES, audit_id, code_digest

ROOT = Path(__file__).resolve().parents[2]
TELL = "from jobs.audit import identity; print(identity.__file__, identity.code_digest())"


def told_by(place: Path, folder: Path) -> str:
    """The digest that the code at a place tells of itself; it runs in `folder`."""
    program = f"import sys; sys.path.insert(0, {str(place)!r}); {TELL}"
    done = subprocess.run(
        [sys.executable, "-B", "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    file, digest = done.stdout.split()
    assert file.startswith(str(place))
    return digest


def test_a_changed_rule_is_another_identity_and_a_zip_is_none(tmp_path: Path) -> None:
    place = tmp_path / "code"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    zipped = Path(shutil.make_archive(str(tmp_path / "code"), "zip", place))
    assert told_by(place, tmp_path) == told_by(zipped, tmp_path) == code_digest()
    rule = place / "jobs/verify/checks/transaction/hanging_transaction.py"
    rule.write_text(rule.read_text().replace("excuses=(", "excuses=(*(),", 1))
    (place / "udfs/notes.txt").write_text("no code")
    other = told_by(place, tmp_path)
    assert other != code_digest()
    rule.unlink()
    assert told_by(place, tmp_path) not in (other, code_digest())


def test_input_configuration_and_code_count() -> None:
    assert audit_id("files", "{}") == audit_id("files", "{}")
    assert len({audit_id("files", "{}"), audit_id("other", "{}"), audit_id("files", "[]")}) == 3
