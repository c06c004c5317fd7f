"""manifest.json, SHA256SUMS and a signature: whether the report is still the one written.

`manifest.json` is an in-toto statement: the files with their SHA-256, and what they say. Its
Ed25519 signature, `manifest.sig`, is 64 raw bytes; the key stays with the user.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.model.errors import UsageError
from jobs.report.verdict import Verdict

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MANIFEST, SUMS, SIGNATURE = "manifest.json", "SHA256SUMS", "manifest.sig"


def seal(files: dict[str, bytes], verdict: Verdict, sign_key: Path | None) -> dict[str, bytes]:
    """Name -> content of the files, and of those that seal them.

    Raises UsageError where the key cannot be used.
    """
    subjects = [
        {"name": name, "digest": {"sha256": _sha256(files[name])}} for name in sorted(files)
    ]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "urn:eosaudit:verdict:1",
        "predicate": {
            "audit_id": verdict.audit_id,
            "version": verdict.version,
            "verdict": verdict.verdict,
            "exit_code": verdict.exit_code,
        },
    }
    manifest = (json.dumps(statement, indent=1, sort_keys=True) + "\n").encode()
    sealed = files | {MANIFEST: manifest}
    if sign_key is not None:
        sealed[SIGNATURE] = sign(manifest, sign_key)
    sums = "".join(f"{_sha256(sealed[name])}  {name}\n" for name in sorted(sealed))
    return sealed | {SUMS: sums.encode()}


def is_sealed(files: Mapping[str, bytes], sums: bytes | None) -> bool:
    """Whether SHA256SUMS has these files as they are; not without one."""
    lines = set((sums or b"").decode("utf-8", "replace").splitlines())
    return all(f"{_sha256(content)}  {name}" in lines for name, content in files.items())


def is_named(file: str, sums: bytes | None) -> bool:
    """Whether SHA256SUMS has a file of that name, so that it is of a report; not without one."""
    lines = (sums or b"").decode("utf-8", "replace").splitlines()
    return any(line.endswith(f"  {file}") for line in lines)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def sign(content: bytes, key: Path) -> bytes:
    """Ed25519 signature with the private key in a PEM file without a password."""
    return _load(key).sign(content)


def check_key(key: Path | None) -> None:
    """Raises UsageError where the key cannot be used: before the audit, not after it."""
    if key is not None:
        _load(key)


def _load(key: Path) -> "Ed25519PrivateKey":
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as error:
        raise UsageError(
            "--sign-key needs the package cryptography: pip install cryptography."
        ) from error
    try:
        loaded = load_pem_private_key(key.read_bytes(), password=None)
    except OSError as error:
        raise UsageError(f"--sign-key {key} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"--sign-key {key} is not a private key in PEM form without a password."
        ) from error
    if not isinstance(loaded, Ed25519PrivateKey):
        raise UsageError(
            f"--sign-key {key} is not an Ed25519 key; make one with `openssl genpkey -algorithm "
            "ed25519 -out key.pem`."
        )
    return loaded
