"""Table `audit`: one row is one finished audit, written last; without it there is no audit."""

from schemas.columns import AUDIT_ID, integer, long, string, table

AUDIT = table(
    AUDIT_ID,
    string("version", "version of eosaudit"),
    string("verdict", "clean, violations, not_accepted or incomplete"),
    integer("exit_code", "exit code of the command"),
    long("as_of_ms", "moment from which ages are counted (--as-of), ms; null if unknown"),
    string("depth", "--depth: records (batches were decompressed) or headers"),
    string("configuration", "effective configuration, JSON"),
    string("input_digest", "digest of all files with their paths; null in rows of older code"),
    string("code_digest", "digest of the code that audited; null in rows of older code"),
    integer("examples_per_code", "findings that its report shows of a check and verdict"),
    long("files", "files in the dump"),
    long("bytes", "their size, bytes"),
    long("partitions", "partitions audited, each replica counted"),
    long("batches", "batches decoded"),
    long("transactions", "transactions seen"),
    long("violations", "findings of verdict violation"),
    long("suspects", "findings of verdict suspect"),
    long("inconclusive", "findings of verdict inconclusive"),
    long("audit_number", "number of this audit among those finished in this folder, from 1"),
    string("previous_audit_id", "the audit finished before it; null for the first"),
    long("new_findings", "findings that the previous audit did not have; null for the first"),
    long("gone_findings", "findings that only the previous audit had; null for the first"),
    long("open_transactions", "transactions without a marker, each replica counted"),
    long("oldest_open_since_ms", "timestamp of the first batch of the oldest transaction that "
         "blocks a last stable offset, ms; null for none"),
    long("largest_lag", "largest distance from last stable offset to high watermark, offsets"),
    string("result", "content of verdict.json"),
)  # fmt: skip
