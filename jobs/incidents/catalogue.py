"""All signatures, one a file of `jobs/incidents/signatures`, in the order they are tried."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module

from jobs.incidents.signature import Signature

PACKAGE = "jobs.incidents.signatures"
# The first that explains a finding takes it: what breaks the bytes breaks everything above.
ORDER = (
    "damaged_disk", "two_clusters", "lost_in_all_replicas", "unclean_election", "changed_marker",
    "skipped_markers", "operator_abort", "late_write", "shared_producer_id", "zombie_write",
    "coordinator_lost_state", "expired_state", "offset_commits", "stale_replica",
)  # fmt: skip


def _signatures() -> Iterator[Signature]:
    # Not the folder: the code may be in a zip, as `spark-submit.sh` ships it.
    files = {module.name for module in pkgutil.iter_modules(import_module(PACKAGE).__path__)}
    if files != set(ORDER):
        raise TypeError(f"{sorted(files ^ set(ORDER))}: ORDER and files differ")
    for name in ORDER:
        signature = getattr(import_module(f"{PACKAGE}.{name}"), "SIGNATURE", None)
        if not isinstance(signature, Signature) or signature.name != name:
            raise TypeError(f"{PACKAGE}.{name} has no SIGNATURE of that name")
        yield signature


SIGNATURES: tuple[Signature, ...] = tuple(_signatures())


def manual(signature: Signature) -> str:
    """The manual of a signature: the docstring of its file."""
    return (import_module(f"{PACKAGE}.{signature.name}").__doc__ or "").strip()
