"""recheck.py: findings again, from the bytes that they name and from nothing else."""

import contextlib
import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_builder import LogBuilder
from pyspark.sql import SparkSession

from jobs.main import main as audit_main
from jobs.report import report_json
from jobs.report.formats import RECHECK
from jobs.report.recheck.batches import HEADER, Batch
from jobs.report.recheck.checksums import crc32c
from jobs.report.recheck.claims import CLAIMS
from jobs.report.recheck.command_line import main
from jobs.report.recheck.damage import OF_DAMAGE
from jobs.report.recheck.decompression import DECOMPRESSED, unlz4, unzstd
from jobs.report.recheck.evidence import MARKERS, OF_TRANSACTION
from jobs.report.recheck.findings import recheck
from jobs.report.recheck.report_files import FORMAT, findings_of, moment_of
from jobs.report.recheck.results import CONFIRMED, HOLDS, REFUTED, UNDECIDED, UndecidedError
from jobs.report.recheck_file import recheck_file
from jobs.verify.catalogue import CHECKS
from tests.wire_writer import batches as writer
from tests.wire_writer import txn_log as txn_writer
from udfs.wire.coordinator import txn_log

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests/dumps/hanging-sample"
REPORT = ROOT / "docs/sample-report/report.json"
FILE = "t-0/00000000000000000000.log"
Run = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The file of a report without site-packages, and without this project in sight."""
    file = tmp_path_factory.mktemp("report") / RECHECK
    file.write_text(recheck_file(), encoding="utf-8")

    def told(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-I", "-S", str(file), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    return told


def test_the_sample_report_is_rechecked_with_python_alone(tmp_path: Path, run: Run) -> None:
    code, told = run(str(REPORT), str(SAMPLE))
    assert (code, told.splitlines()[-1]) == (0, "1 confirmed")
    assert "and all batch headers of h-0 and all records of __transaction_state-4" in told
    code, told = run(str(REPORT), str(SAMPLE), "--evidence-only")
    assert (code, told.splitlines()[-1]) == (0, "1 holds")
    assert run(str(REPORT), str(tmp_path))[0] == 3


def test_the_report_of_an_audit_without_as_of_is_rechecked(
    spark: SparkSession, tmp_path: Path, run: Run
) -> None:
    out = tmp_path / "out"
    assert audit_main(["audit", "--dump", str(SAMPLE), "--out", str(out), "--quiet"]) == 1
    report = json.loads((out / "report.json").read_text())
    assert json.loads(report["configuration"])["as_of"] is None
    assert moment_of(out / "report.json") == report["verdict"]["as_of_ms"] > 0
    code, told = run(str(out / "report.json"), str(SAMPLE))
    assert (code, told.splitlines()[-1]) == (0, "1 confirmed")
    # A dump without a moment: what depends on it holds, and is not refuted.
    report["verdict"]["as_of_ms"] = None
    (tmp_path / "report.json").write_text(json.dumps(report))
    code, told = run(str(tmp_path / "report.json"), str(SAMPLE))
    assert (code, "Traceback" in told) == (0, False)


HOW = "give report.json, or rows of the table violation as JSON."
WRONG = {
    "nothing": ([], "report.json and the folder of the dump are missing; see --help."),
    "no dump": (["{report}"], "the folder of the dump is missing; see --help."),
    "no file": (["{tmp}/typo.json", "{dump}"], f"{{tmp}}/typo.json is not a file: {HOW}"),
    "a folder": (["{dump}", "{dump}"], f"{{dump}} is not a file: {HOW}"),
    "another check": (
        ["{report}", "{dump}", "hanging_transactions"],
        "hanging_transactions is neither a folder nor a check "
        "(did you mean hanging_transaction?).",
    ),
    "no second dump": (
        ["{report}", "{dump}", "/copys/typo"], "/copys/typo is neither a folder nor a check.",
    ),
    "an option": (["{report}", "{dump}", "--evidence"], "--evidence is no option; see --help."),
    "verdict.json": (
        ["{sample}/verdict.json", "{dump}"], f"{{sample}}/verdict.json is no report.json: {HOW}",
    ),
    "repair.json": (
        ["{sample}/repair.json", "{dump}"], f"{{sample}}/repair.json is no report.json: {HOW}",
    ),
    "a page": (["{sample}/report.html", "{dump}"], f"{{sample}}/report.html is no JSON: {HOW}"),
    "bytes": (["{tmp}/bytes", "{dump}"], f"{{tmp}}/bytes is no text: {HOW}"),
    "numbers": (["{tmp}/numbers", "{dump}"], f"{{tmp}}/numbers holds no findings: {HOW}"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "said"), WRONG.values(), ids=list(WRONG))
def test_a_wrong_word_or_file_is_one_sentence(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\0")
    (tmp_path / "numbers").write_text('[{"code": "offset_gap", "count": 1}]')
    named = {"report": REPORT, "dump": SAMPLE, "sample": REPORT.parent, "tmp": tmp_path}
    assert main([word.format_map(named) for word in words]) == 2
    assert capsys.readouterr() == ("", f"recheck.py: {said.format_map(named)}\n")


def test_where_nothing_is_checked_nothing_is_confirmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(REPORT), str(SAMPLE), "hanging_transaction"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 confirmed"
    assert main([str(REPORT), str(SAMPLE), "offset_gap"]) == 3
    assert (
        capsys.readouterr().out == f"nothing was checked: {REPORT} has no finding of offset_gap\n"
    )
    (tmp_path / "none.json").write_text("")
    assert main([str(tmp_path / "none.json"), str(SAMPLE)]) == 3
    assert main(["--help"]) == 0
    assert "python3 recheck.py report.json DUMP" in capsys.readouterr().out


def test_a_finding_without_evidence_is_undecided() -> None:
    (finding,) = findings_of(REPORT)
    told = recheck(finding | {"evidence": []}, [SAMPLE])
    assert told == (UNDECIDED, "the finding names no evidence")


@pytest.mark.parametrize("at", range(0, 91, 7))
def test_a_byte_of_the_evidence_that_changed_refutes(tmp_path: Path, at: int) -> None:
    dump = tmp_path / "dump"
    shutil.copytree(SAMPLE, dump)
    (finding,) = findings_of(REPORT)
    first, last = finding["evidence"]
    path = dump / first["file"]
    content = bytearray(path.read_bytes())
    content[first["byte_position"] + at] ^= 1
    path.write_bytes(content)
    assert recheck(finding, [dump])[0] == REFUTED
    # Rows of the table quote no bytes: there the length and the checksum tell.
    for one in finding["evidence"]:
        del one["fields"]
    crc_covers = at >= 16 or 8 <= at < 12
    wanted = REFUTED if crc_covers else HOLDS
    assert recheck(finding, [dump], evidence_only=True)[0] == wanted
    path.write_bytes(content[: last["byte_position"] + 10])
    assert recheck(finding, [dump])[0] == REFUTED
    path.unlink()
    assert recheck(finding, [dump])[0] == UNDECIDED


def test_what_lies_elsewhere_does_not_matter(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "dump")
    (finding,) = findings_of(REPORT)
    path = tmp_path / "dump" / finding["file"]
    path.write_bytes(b"\xff" * 100 + path.read_bytes()[100:])
    assert recheck(finding, [tmp_path / "dump"])[0] == CONFIRMED


@pytest.mark.parametrize(
    "other",
    [
        {"topic": "other"}, {"partition": 7}, {"producer_id": 6},
    ],
)  # fmt: skip
def test_a_finding_that_names_another_place_is_refuted(other: dict[str, Any]) -> None:
    (finding,) = findings_of(REPORT)
    assert recheck(finding, [SAMPLE])[0] == CONFIRMED
    assert recheck(finding | other, [SAMPLE])[0] == REFUTED


def finding_of(code: str, folder: Path, *lines: str, **more: Any) -> dict[str, Any]:
    """A finding whose evidence are all batches of a log, in their order."""
    log = LogBuilder()
    for line in lines:
        log.add(line)
    (folder / "t-0").mkdir(exist_ok=True)
    (folder / FILE).write_bytes(log.segments[0])
    evidence = [
        {"file": FILE, "byte_position": one.start, "byte_length": one.end - one.start, "role": ""}
        for one in log.placed
    ]
    return {"code": code, "topic": "t", "partition": 0, "offset_first": 0, "producer_id": None,
            "evidence": evidence} | more  # fmt: skip


# code, the log that shows it, the most similar one that does not.
SHOWN = [
    ("sequence_gap", ["data pid=1", "data pid=1 seq=5"], ["data pid=1", "data pid=1"]),
    ("sequence_regression", ["data pid=1 n=3", "data pid=1 seq=1"], ["data pid=1", "data pid=1"]),
    ("producer_epoch_regression", ["data pid=1 epoch=3", "data pid=1 epoch=2"],
     ["data pid=1 epoch=3", "data pid=1 epoch=3"]),
    ("offset_gap", ["plain", "plain offset=5"], ["plain", "plain"]),
    ("offset_not_increasing", ["plain n=3", "plain offset=1"], ["plain n=3", "plain"]),
    ("leader_epoch_regression", ["plain leader=3", "plain leader=2"],
     ["plain leader=3", "plain leader=3"]),
    ("conflicting_markers", ["commit pid=1 epoch=0", "abort pid=1 epoch=0"],
     ["commit pid=1 epoch=0", "commit pid=1 epoch=0"]),
    ("duplicate_marker", ["commit pid=1 epoch=0", "commit pid=1 epoch=0"],
     ["commit pid=1 epoch=0", "commit pid=1 epoch=1"]),
    ("coordinator_epoch_regression", ["commit pid=1 cepoch=3", "commit pid=1 cepoch=2"],
     ["commit pid=1 cepoch=3", "commit pid=1 cepoch=3"]),
    ("zombie_write_after_fence", ["commit pid=1 epoch=3", "data pid=1 epoch=2"],
     ["commit pid=1 epoch=3", "data pid=1 epoch=3"]),
    ("batch_crc_mismatch", ["plain crc=bad"], ["plain"]),
    ("batch_magic_unknown", ["plain poke=16:07"], ["plain"]),
    ("batch_count_exceeds_range", ["plain n=2 lod=0"], ["plain n=2"]),
    ("batch_empty_unexpected", ["plain empty"], ["plain"]),
    ("batch_attribute_bits_unknown", ["plain attributes=0x0080"], ["plain"]),
    ("batch_max_timestamp_mismatch", ["plain max=900"], ["plain"]),
    ("batch_record_malformed", ["plain section=00ff"], ["plain"]),
    ("batch_record_offset_order", ["plain deltas=2,1 lod=2"], ["plain deltas=1,2 lod=2"]),
    ("batch_decompression_failed", ["plain codec=gzip section=1f8b0000"], ["plain codec=gzip"]),
    ("control_type_unknown", ["commit pid=1 type=5"], ["commit pid=1"]),
]  # fmt: skip


@pytest.mark.parametrize(("code", "log", "twin"), SHOWN, ids=[one[0] for one in SHOWN])
def test_what_bytes_show_is_confirmed_and_their_twin_refutes(
    tmp_path: Path, code: str, log: list[str], twin: list[str]
) -> None:
    assert recheck(finding_of(code, tmp_path, *log), [tmp_path])[0] == CONFIRMED
    assert recheck(finding_of(code, tmp_path, *twin), [tmp_path])[0] == REFUTED


def test_what_python_cannot_decompress_is_undecided(tmp_path: Path) -> None:
    finding = finding_of("batch_decompression_failed", tmp_path, "plain codec=zstd")
    told = recheck(finding, [tmp_path])
    if sys.version_info >= (3, 14):
        assert told[0] == REFUTED
    else:
        assert told == (UNDECIDED, "cannot be rechecked without codec zstd (Python 3.14)")
    finding = finding_of("sequence_gap", tmp_path, "data pid=1 codec=lz4", "data pid=1 seq=7")
    assert recheck(finding, [tmp_path])[0] == CONFIRMED


def test_zstd_is_read_where_python_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`compression.zstd` of Python 3.14, of which two names are used."""

    def decompress(data: bytes) -> bytes:
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            return bytes(stream.read())

    known = SimpleNamespace(decompress=decompress, ZstdError=OSError)
    monkeypatch.setitem(sys.modules, "compression", ModuleType("compression"))
    monkeypatch.setitem(sys.modules, "compression.zstd", known)
    stored = writer.compress(4, b"payload" * 9)
    assert unzstd(stored) == b"payload" * 9
    with pytest.raises(ValueError, match="Truncated"):
        unzstd(stored[:12] + b"\0" * 9)


def test_the_header_of_an_lz4_frame_has_its_checksum() -> None:
    frame = bytearray(writer.compress(3, b"payload"))
    frame[6] ^= 1
    with pytest.raises(ValueError, match="a header of LZ4"):
        unlz4(bytes(frame))
    assert unlz4(bytes(frame), of_old_clients=True) == b"payload"


CODECS_OF_ITS_OWN = {2: "snappy", 3: "lz4"}
# Little of it repeats, all of it, or parts that lie far apart.
SECTIONS = st.one_of(
    st.binary(max_size=300),
    st.builds(
        lambda part, times: part * times, st.binary(min_size=1, max_size=9), st.integers(0, 90)
    ),
    st.builds(
        lambda part, between: part + between * 700 + part,
        st.binary(min_size=8),
        st.binary(max_size=99),
    ),
)


@pytest.mark.parametrize("codec", CODECS_OF_ITS_OWN, ids=CODECS_OF_ITS_OWN.get)
@given(section=SECTIONS)
def test_it_reads_what_others_compress(codec: int, section: bytes) -> None:
    stored = writer.compress(codec, section)
    assert DECOMPRESSED[codec](stored) == section
    if codec == 2:
        bare = pa.Codec("snappy").compress(section, asbytes=True)
        assert DECOMPRESSED[codec](bare) == section


@pytest.mark.parametrize("codec", CODECS_OF_ITS_OWN, ids=CODECS_OF_ITS_OWN.get)
@given(section=SECTIONS, data=st.data())
def test_compressed_bytes_that_are_cut_off_or_changed_end_with_one_error(
    codec: int, section: bytes, data: st.DataObject
) -> None:
    stored = bytearray(writer.compress(codec, section))
    at = data.draw(st.integers(0, len(stored) - 1))
    stored[at] ^= data.draw(st.integers(1, 255))
    batch = Batch(
        writer.batch(0, [], base_timestamp=0, codec=codec, section=bytes(stored[: at + 40]))
    )
    with contextlib.suppress(ValueError, UndecidedError):
        batch.plain()


def test_the_producer_of_the_batch_at_the_place_is_that_of_the_finding(tmp_path: Path) -> None:
    finding = finding_of("hanging_transaction", tmp_path, "txn pid=7", producer_id=7)
    finding |= {"file": FILE, "byte_position": 0}
    assert recheck(finding, [tmp_path])[0] == HOLDS
    assert recheck(finding | {"producer_id": 8}, [tmp_path])[0] == REFUTED


def test_rows_of_the_table_are_taken_as_an_array_or_one_a_line(tmp_path: Path, run: Run) -> None:
    rows = [finding_of("offset_gap", tmp_path, "plain", "plain offset=5")] * 2
    (tmp_path / "array.json").write_text(json.dumps(rows))
    (tmp_path / "lines.json").write_text("\n".join(json.dumps(one) for one in rows))
    for name in ("array.json", "lines.json"):
        code, told = run(str(tmp_path / name), str(tmp_path))
        assert (code, told.splitlines()[-1]) == (0, "2 confirmed")
    assert run(str(tmp_path / "lines.json"), str(tmp_path), "offset_gap")[0] == 0


def test_checksums_are_those_of_kafka() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert struct.calcsize(HEADER.format) == 61


def test_its_codes_and_roles_are_those_of_the_checks() -> None:
    codes = {check.code for check in CHECKS}
    roles = {proof.role for check in CHECKS for proof in check.proofs}
    assert {*CLAIMS, *OF_DAMAGE} == codes == set(CLAIMS)
    assert FORMAT == report_json.FORMAT
    assert {*MARKERS, *OF_TRANSACTION, "the Prepare record"} <= roles


def test_a_marker_is_held_against_the_prepare_record(tmp_path: Path) -> None:
    value = txn_log.TxnLogValue(0, 7, 0, 60_000, 2, (("t", (0,)),), 0, 0, -1, 0)
    record = writer.record(0, 0, txn_writer.encode_key("x"), txn_writer.encode_value(value))
    prepare = writer.batch(0, [record], base_timestamp=0)
    (tmp_path / "log-0").mkdir()
    (tmp_path / "log-0" / "0.log").write_bytes(prepare)
    named = {"file": "log-0/0.log", "byte_position": 0, "byte_length": len(prepare),
             "role": "the Prepare record"}  # fmt: skip
    results = []
    for verb in ("abort", "commit", "txn"):
        finding = finding_of("marker_outcome_mismatch", tmp_path, f"{verb} pid=7", producer_id=7)
        finding["evidence"][0]["role"] = "the marker"
        finding["evidence"].append(named)
        results.append(recheck(finding, [tmp_path])[0])
    assert results == [CONFIRMED, REFUTED, REFUTED]
    lacking = finding | {"code": "missing_marker_in_listed_partition"}
    lacking["evidence"][0]["role"] = ""
    assert recheck(lacking, [tmp_path])[0] == HOLDS
    assert recheck(lacking | {"topic": "elsewhere"}, [tmp_path])[0] == REFUTED


def test_the_sample_report_has_it_beside_it() -> None:
    beside = REPORT.with_name(RECHECK).read_bytes()
    assert beside == recheck_file().encode(), "run `make sample-report`, and commit it"
