"""Zips folders of the work tree into DIR/PREFIX-<digest>-dirty.zip and prints its path.

Usage: zip_code.py ROOT DIR PREFIX FOLDER…
Used by spark-submit.sh where `git archive` cannot be: the name tells the content, so that a run
in progress never sees its zip replaced.
"""

import hashlib
import os
import sys
import zipfile
from pathlib import Path

EARLIEST = (1980, 1, 1, 0, 0, 0)  # the zip format knows nothing older; the same for all files


def code_files(root: Path, folders: list[str]) -> list[Path]:
    """All files below the folders, without caches and hidden files, in the order of their names."""
    return sorted(
        path
        for folder in folders
        for path in (root / folder).rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and not any(part.startswith(".") for part in path.relative_to(root).parts)
    )


def main(root: Path, target: Path, prefix: str, folders: list[str]) -> None:
    """Writes the zip unless it is there already."""
    contents = {str(p.relative_to(root)): p.read_bytes() for p in code_files(root, folders)}
    digest = hashlib.sha256()
    for name, content in contents.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    final = target / f"{prefix}-{digest.hexdigest()[:12]}-dirty.zip"
    if not final.exists():
        part = target / f".{final.name}.{os.getpid()}"
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(zipfile.ZipInfo(name, EARLIEST), content, zipfile.ZIP_DEFLATED)
        part.replace(final)
    sys.stdout.write(f"{final}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
