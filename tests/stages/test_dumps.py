"""Audits dumps of real brokers and holds every table against what the broker itself answered.

One audit takes a minute and more, so a test run has only some of the dumps in tests/dumps.
`make test-corpus` audits all of them, and those of the larger corpus beside the checkout; with
EOSAUDIT_DUMPS those of that folder, and no others (`make soak`).
"""

import json
import os
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracle
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs import main
from jobs.audit.audit import Audit, Request
from jobs.cli.progress import Progress
from jobs.decode.decode import decode_options
from jobs.export.export import ExportRequest, aborted_behind, ranges, records
from jobs.model.settings import load as load_settings
from jobs.verify.catalogue import CHECKS
from schemas.record import READ_COMMITTED, READ_UNCOMMITTED
from schemas.violation import FINDING_PLACE

HERE = Path(__file__).resolve().parent.parent
ONLY = os.environ.get("EOSAUDIT_DUMPS")
ALL = os.environ.get("EOSAUDIT_CORPUS") or ONLY
# Clients of seven kinds in one log; partitions copied one after another under load; a broker that
# was aged on purpose (compacted coordinator's log, retention, event times, expiry).
IN_EVERY_RUN = {"mixed-clients", "tv2-staggered", "aged-tv1-1"}
OWN = sorted((Path(ONLY) if ONLY else HERE / "dumps").glob("*.tar.gz"))
COMMITTED = [path for path in OWN if ALL or path.name.removesuffix(".tar.gz") in IN_EVERY_RUN]
CORPUS = HERE.parent.parent / "shared" / "corpus"
# Too large for a test run.
LEFT_OUT = {"tv2-defaults"}
BESIDE = [
    path
    for path in sorted([*CORPUS.glob("*.tar.gz"), *CORPUS.glob("aged/*.tar.gz")])
    if (ALL and not ONLY)
    and path.name not in {own.name for own in OWN}
    and path.name.removesuffix(".tar.gz") not in LEFT_OUT
]
LOST_MARKER = "missing_marker_in_listed_partition"
# Retention took the head between the broker's answers and the copy.
ANSWERED_EARLIER = {("aged-tv0-1", "lat"), ("aged-tv2-1", "lat")}
AN_HOUR_MS = 3_600_000
CODES = {check.code for check in CHECKS}


def name_of(path: Path) -> str:
    return path.name.removesuffix(".tar.gz")


def newest_copy(about: dict[str, Any]) -> int | None:
    moments = [value for value in about.get("dumped_at_ms", {}).values() if isinstance(value, int)]
    return max(moments) if moments else None


@pytest.fixture(scope="module", params=COMMITTED + BESIDE, ids=name_of)
def audited(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    yield from audit_of(spark, request.param, tmp_path_factory.mktemp(name_of(request.param)))


def audit_of(spark: SparkSession, archive: Path, folder: Path) -> Iterator[Any]:
    """The audit of a dump: its scenario, what `about.json` tells and its states, the audit."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    scenario = folder / name_of(archive)
    about = oracle.about(scenario)
    moment = newest_copy(about)
    as_of = None if moment is None else moment + AN_HOUR_MS
    wanted = Request([scenario / "dump"], "", as_of, "records", load_settings())
    audit = main.audit(spark, wanted, Progress(None, quiet=True))
    states = {
        (row.broker, row.topic, row.partition): row
        for row in audit.replayed.partition_states().collect()
    }
    yield scenario, about | {"states": states}, audit
    audit.release()


def findings(audit: Audit, condition: str) -> list[Any]:
    """Rows of the findings, each at each of its places."""
    names = list(FINDING_PLACE.names)
    alone = F.array(F.struct(*names))
    placed = audit.verified.findings.filter(condition).withColumn(
        "place", F.explode(F.coalesce("places", alone))
    )
    others = [name for name in placed.columns if name not in [*names, "place", "places"]]
    return list(placed.select(*others, "place.*").collect())


def by_place(rows: list[Any]) -> dict[tuple[int, str, int], list[dict[str, Any]]]:
    grouped = defaultdict(list)
    for row in rows:
        grouped[row.broker, row.topic, row.partition].append(row.asDict())
    return grouped


@pytest.mark.slow
def test_a_legal_history_has_no_violation(audited: Any) -> None:
    _, about, audit = audited
    if not about["legal"]:
        pytest.skip("not a legal history")
    told = findings(audit, "verdict = 'violation'")
    assert [(row.code, row.topic, row.partition, row.offset_first) for row in told] == []


def test_no_check_crashed_and_nothing_is_incomplete(audited: Any) -> None:
    _, _, audit = audited
    assert {outcome.status for outcome in audit.verified.outcomes} == {"ran"}
    assert audit.verdict.incomplete == []


def places(entry: dict[str, Any]) -> set[tuple[str, str, int, str, int]]:
    """The names and the place under which an expected finding may be told."""
    producer = None if entry["producer_id"] == -1 else entry["producer_id"]
    codes = {entry["code"], *(entry.get("also") or [])}
    place = f"offset {entry['offset_first']}"
    if is_lost_log(entry):
        # The offset is that in the log that was lost, and the epoch that of the marker.
        if entry["code"] == LOST_MARKER:
            place = f"epoch {entry['producer_epoch'] - 1}"
        # Open data of a completed transaction are the same fault as the coordinator sees it.
        codes.add(LOST_MARKER)
    return {(code, entry["topic"], entry["partition"], place, producer) for code in codes}


def is_lost_log(entry: dict[str, Any]) -> bool:
    """Whether the entry tells what an unclean election has lost, on which replicas."""
    return "replicas" in entry and entry["producer_id"] != -1


def of_brokers(entry: dict[str, Any], told: dict[int, set[Any]]) -> list[set[Any]]:
    """What was told of the copies that the entry is about, one set each; of any copy together."""
    if is_lost_log(entry):
        return [told[broker] for broker in entry["replicas"]]
    return [set().union(*told.values())]


def test_expected_findings_are_named_at_their_place(audited: Any) -> None:
    scenario, _, audit = audited
    expected = json.loads((scenario / "expected.json").read_text())
    owed = defaultdict(list)  # of the entries of a group, which tell one fault, any is enough
    for number, entry in enumerate(expected):
        if entry["code"] in CODES and entry.get("must", True):
            owed[entry.get("group") or number].append(entry)
    if not owed:
        pytest.skip("no expected finding of a check that exists")
    told: dict[int, set[Any]] = defaultdict(set)
    for row in findings(audit, "verdict != 'inconclusive'"):
        for place in (f"offset {row.offset_first}", f"epoch {row.producer_epoch}"):
            told[row.broker].add((row.code, row.topic, row.partition, place, row.producer_id))
    missing = [
        entries
        for entries in owed.values()
        if not any(
            all(places(entry) & of_copy for of_copy in of_brokers(entry, told)) for entry in entries
        )
    ]
    assert missing == []


def answered(scenario: Path) -> list[dict[str, Any]]:
    """What the broker answered of partitions that were copied as they were then."""
    return [
        told
        for told in oracle.partitions(scenario)
        if (scenario.name, told["topic"]) not in ANSWERED_EARLIER
    ]


def test_ranges_and_last_stable_offsets_are_those_of_the_broker(audited: Any) -> None:
    scenario, about, _ = audited
    if about["dump"] != "clean_stop":
        pytest.skip("the broker was asked at another moment")
    states = about["states"]
    for told in answered(scenario):
        row = states[told["leader"], told["topic"], told["partition"]]
        assert (
            row.log_start_offset,
            row.log_end_offset,
            row.last_stable_offset,
        ) == (told["log_start_offset"], told["log_end_offset"], told["last_stable_offset"]), told


def aborted_by_place(audit: Audit) -> dict[tuple[int, str, int], list[dict[str, Any]]]:
    place = audit.replayed.partition_info.select("partition_index", "broker", "topic", "partition")
    rows = audit.aborts.lists.aborted().join(F.broadcast(place), on="partition_index").collect()
    return by_place(rows)


def test_consumers_would_receive_what_consumers_received(audited: Any) -> None:
    scenario, about, audit = audited
    if about["dump"] != "clean_stop":
        pytest.skip("the broker was asked at another moment")
    aborted = aborted_by_place(audit)
    states = about["states"]
    compared = 0
    for told in answered(scenario):
        place = (told["leader"], told["topic"], told["partition"])
        name = f"{told['topic']}-{told['partition']}"
        stored = list(oracle.stored_batches(oracle.folder_of(scenario, told["leader"], name)))
        state = states[place]
        for isolation, end in (
            ("read_committed", state.last_stable_offset),
            ("read_uncommitted", state.log_end_offset),
        ):
            answer = scenario / "oracle" / isolation / f"{name}.txt"
            if answer.exists():
                compared += 1
                seen = oracle.visible_offsets(
                    stored,
                    aborted.get(place, []),
                    state.log_start_offset,
                    end,
                    isolation == "read_committed",
                )
                assert seen == oracle.read_offsets(answer), (isolation, name)
    assert compared > 0


def test_the_export_gives_what_consumers_received(audited: Any, spark: SparkSession) -> None:
    scenario, about, audit = audited
    if about["dump"] != "clean_stop":
        pytest.skip("the broker was asked at another moment")
    states, decoded = audit.replayed.partition_states(), audit.read.decoded
    behind = aborted_behind(audit.replayed.transactions, audit.replayed.splits)
    options = decode_options(audit.request.settings, "records")
    leaders = {
        f"{one['topic']}-{one['partition']}": one["leader"]
        for one in answered(scenario)
        if not one["topic"].startswith("__")
    }
    compared = 0
    for isolation, aborted in ((READ_COMMITTED, behind), (READ_UNCOMMITTED, None)):
        # Copies may differ, cleaned or lost, and the leader has answered.
        for leader in set(leaders.values()):
            asked = ranges(states, audit.dump, ExportRequest(isolation, broker=leader))
            names = {one.partition_index: f"{one.topic}-{one.partition}" for one in asked}
            exported = defaultdict(list)
            found = records(spark, decoded.splits, asked, aborted, options, {})
            for row in found.select("partition_index", "offset").collect():
                exported[names[row.partition_index]].append(row.offset)
            for name in [name for name, of in leaders.items() if of == leader]:
                answer = scenario / "oracle" / isolation / f"{name}.txt"
                if answer.exists():
                    compared += 1
                    assert sorted(exported[name]) == oracle.read_offsets(answer), (isolation, name)
    assert compared > 0


def test_aborted_transactions_are_those_of_the_index(audited: Any) -> None:
    scenario, about, audit = audited
    if about["dump"] != "clean_stop":
        pytest.skip("index and log were copied at different moments")
    aborted = aborted_by_place(audit)
    names = ("broker", "topic", "partition", "cleaning", "first_base", "log_start_offset")
    facts = audit.replayed.partition_info.select(*names)
    for fact in facts.collect():
        place = (fact.broker, fact.topic, fact.partition)
        folder = oracle.folder_of(scenario, fact.broker, f"{fact.topic}-{fact.partition}")
        stored = {
            (entry.producer_id, entry.last_offset): entry for entry in oracle.index_entries(folder)
        }
        computed = {(row["producer_id"], row["marker_offset"]): row for row in aborted[place]}
        # Of what lies below the log start a broker that was killed may have forgotten anything.
        whole = fact.cleaning == "never" and not fact.first_base and not fact.log_start_offset
        if whole:
            # Brokers up to 2.7 wrote an entry for an ABORT without data too.
            with_data = {key for key, entry in stored.items() if entry.first_offset != key[1]}
            assert with_data == set(computed), place
        for key in stored.keys() & computed.keys():
            entry, row = stored[key], computed[key]
            assert entry.first_offset <= row["first_offset"], (place, key)
            if whole:
                assert entry.first_offset == row["first_offset"], (place, key)
                # A follower may have noted a transaction that began later in the same fetch.
                follower = entry.last_stable_offset > key[1]
                assert follower or entry.last_stable_offset == row["last_stable_offset"], key


def test_coordinators_tell_what_they_told(audited: Any) -> None:
    scenario, about, audit = audited
    answers = scenario / "oracle" / "transactions.json"
    if about["dump"] != "clean_stop" or not answers.exists():
        pytest.skip("the coordinators were asked at another moment, or not at all")
    last = {
        (row.broker, row.transactional_id): (
            row.state, row.producer_id, row.producer_epoch, row.timeout_ms,
            sorted(row.partitions or []),
        )
        for row in audit.replayed.coordinator.collect()
    }  # fmt: skip
    asked = json.loads(answers.read_text())["describe"]
    assert asked
    for told in asked:
        listed = [f"{one['topic']}-{one['partition']}" for one in told["topicPartitions"]]
        found = last[told["coordinatorId"], told["transactionalId"]]
        said = (
            told["state"], told["producerId"], told["producerEpoch"],
            told["transactionTimeoutMs"], sorted(listed),
        )  # fmt: skip
        if found != said:
            # An append that failed late, for its timeout, took no effect and is in the log; what
            # it did not replace may be cleaned away.
            records = oracle.told_by_coordinators(
                scenario, told["coordinatorId"], told["transactionalId"]
            )
            assert records == [found] or said in records[:-1], (said, found)


def test_leaders_tell_which_transactions_are_open(audited: Any) -> None:
    scenario, about, audit = audited
    answers = scenario / "oracle" / "producers.json"
    if about["dump"] != "clean_stop" or not answers.exists():
        pytest.skip("the leaders were asked at another moment, or not at all")
    place = audit.replayed.partition_info.select("partition_index", "broker", "topic", "partition")
    named = audit.replayed.transactions.filter("outcome = 'open'").join(
        F.broadcast(place), on="partition_index"
    )
    # Of what lies below its log start a leader knows more than its log.
    starts = {place: row.log_start_offset for place, row in about["states"].items()}
    leaders = {(one["topic"], one["partition"]): one["leader"] for one in answered(scenario)}
    found = {
        (row.broker, row.topic, row.partition, row.producer_id, row.highest_epoch, row.first_offset)
        for row in named.collect()
        if leaders.get((row.topic, row.partition)) == row.broker
    }
    told = {
        (leaders[one[:2]], *one) for one in oracle.open_transactions(answers) if one[:2] in leaders
    }
    in_log = [{one for one in rows if one[-1] >= starts[one[:3]]} for rows in (found, told)]
    assert in_log[0] == in_log[1]


def test_what_the_tool_of_the_broker_finds_hanging_is_hanging(audited: Any) -> None:
    scenario, _, audit = audited
    answers = scenario / "oracle" / "find-hanging-default-15min.txt"
    if not answers.exists() or answers.with_name("find-hanging-after.txt").exists():
        pytest.skip("the tool was not asked, or what it found was ended afterwards")
    hanging = {
        (row.topic, row.partition, row.producer_id, row.offset_first)
        for row in findings(audit, "code = 'hanging_transaction' and verdict = 'violation'")
    }
    told = oracle.hanging(answers)
    assert told
    assert told <= hanging
