"""Table `dump_file`: one row is a file of the dump, audited or not, or a folder not looked into."""

from schemas.columns import AUDIT_ID, PLACE, long, string, table

# Behind the path of a text of kafka-dump-log, in front of the file that it tells of. Positions in
# such a file are line numbers, sizes of what stands there are lines.
IN_TEXT = "!/"

DUMP_FILE = table(
    AUDIT_ID,
    string("path", "path relative to the dump; TEXT!/FILE for a file in a text of kafka-dump-log"),
    *PLACE,
    string("kind", "segment, txn_index, metadata_log, offset_index, time_index, …"),
    long("base_offset", "base offset in the file name; null for files without one"),
    long("size_bytes", "size when the dump was listed, bytes"),
    string("sha256", "SHA-256 over the SHA-256 of each MiB; null when the file was not read"),
    long("batches", "batches decoded; null for files that hold none"),
    long("records", "records in those batches, by their headers"),
    string("status", "audited, digest_only (hashed, not decoded), skipped or failed"),
    string("note", "why the file was not audited"),
)
