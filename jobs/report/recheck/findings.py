"""What became of a finding, at each of its places."""

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from jobs.report.recheck.batches import HEADER, framed
from jobs.report.recheck.cases import Case
from jobs.report.recheck.claims import CLAIMS
from jobs.report.recheck.damage import OF_DAMAGE
from jobs.report.recheck.dump import Dump
from jobs.report.recheck.evidence import LAST_OF_TRANSACTION, at_its_place, named, proof_of
from jobs.report.recheck.internal_topics import TXN_LOG
from jobs.report.recheck.results import (
    CONFIRMED,
    HOLDS,
    REFUTED,
    UNDECIDED,
    HoldsError,
    MissingError,
    RefutedError,
    UndecidedError,
)
from jobs.report.recheck.snapshot_files import SNAPSHOT_ENTRY


def recheck_place(finding: dict[str, Any], dump: Dump) -> tuple[str, str]:
    """What became of a finding at one place, and why."""
    evidence = [one for one in finding.get("evidence") or () if one.get("file")]
    code = finding["code"]
    try:
        proofs = [proof_of(one, dump, code in OF_DAMAGE) for one in evidence]
        named(finding, proofs)
        at_its_place(finding, proofs)
        claim = CLAIMS.get(code)
        says = claim(Case(finding, proofs, dump)) if claim else None
    except RefutedError as error:
        return REFUTED, str(error)
    except OSError as error:
        return UNDECIDED, f"{error.filename} cannot be read: {error.strerror}"
    except UndecidedError as error:
        return UNDECIDED, str(error)
    except MissingError as error:
        says_so = finding.get("reason") in error.reasons
        return CONFIRMED if says_so else HOLDS, str(error)
    except HoldsError as error:
        return HOLDS, str(error)
    except (ValueError, struct.error, IndexError) as error:
        if not evidence:
            return UNDECIDED, "the finding names no evidence"
        return REFUTED, f"the bytes cannot be read as the finding says: {error}"
    if says is None:
        return HOLDS, "the bytes are there and whole"
    what = " and ".join(["the bytes", *dump.read])
    return (CONFIRMED, f"follows from {what}") if says else (REFUTED, f"{what} show otherwise")


def at_places(finding: dict[str, Any], dump: Dump) -> Iterator[dict[str, Any]]:
    """The finding at each of its places where the evidence there is known.

    Evidence is that of the first place. At another one the batch at its position is known, and the
    coordinator's records are the same; a further batch is not.
    """
    first, *others = finding.get("places") or [finding]
    yield finding | first
    evidence = finding.get("evidence") or []
    here = (finding.get("file"), finding.get("byte_position"))
    own = [one for one in evidence if (one.get("file"), one.get("byte_position")) == here]
    ours = [one for one in evidence if TXN_LOG in str(one.get("file"))]
    further = [o for o in evidence if o not in own + ours and o.get("role") != LAST_OF_TRANSACTION]
    for place in others if not further else ():
        moved = [one if one in ours else moved_to(one, place, dump) for one in own]
        yield finding | place | {"evidence": [*moved, *(one for one in ours if one not in own)]}


def moved_to(one: dict[str, Any], place: dict[str, Any], dump: Dump) -> dict[str, Any]:
    """Evidence at another place, where it is as long as the batch there says.

    There it may be the entry of a snapshot, whose length all have.
    """
    file, position = str(place.get("file")), place.get("byte_position")
    path = next((each for each in dump.places(file) if each.is_file()), None)
    length = SNAPSHOT_ENTRY.size if file.endswith(".snapshot") else 0
    if path is not None and position is not None and not length:
        # What cannot be read here cannot be read as evidence either.
        with suppress(OSError), path.open("rb") as opened:
            opened.seek(position)
            length = framed(opened.read(HEADER.size))
    found = {"file": file, "byte_position": position, "byte_length": length}
    return {"role": one.get("role")} | found


def recheck(
    finding: dict[str, Any],
    roots: list[Path],
    evidence_only: bool = False,
    as_of: int | None = None,
) -> tuple[str, str]:
    """What became of a finding, and why; of several places the weakest."""
    told = [
        recheck_place(one, Dump(roots, evidence_only, as_of))
        for one in at_places(finding, Dump(roots))
    ]
    weakest = next(r for r in (REFUTED, UNDECIDED, HOLDS, CONFIRMED) if r in [x for x, _ in told])
    number, why = next((n, why) for n, (result, why) in enumerate(told) if result == weakest)
    all_places = finding.get("place_count") or len(finding.get("places") or ())
    where = f" (place {number + 1} of {all_places})" if all_places > 1 else ""
    if weakest == CONFIRMED and all_places > 1:
        where = f" ({len(told)} of {all_places} places)"
    return weakest, why + where
