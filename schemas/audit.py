"""Table `audit`: one row is one finished audit, written last; without it there is no audit."""

from schemas.columns import AUDIT_ID, integer, long, string, table

AUDIT = table(
    AUDIT_ID,
    string("version", "version of eosaudit"),
    string("verdict", "clean, violations, not_accepted or incomplete"),
    integer("exit_code", "exit code of the command"),
    long("as_of_ms", "moment of the dump the ages refer to, ms; null when nothing tells"),
    string("depth", "records or headers"),
    string("configuration", "effective configuration, JSON"),
    long("files", "files in the dump"),
    long("bytes", "their bytes"),
    long("partitions", "partitions audited, each replica counted"),
    long("batches", "batches decoded"),
    long("transactions", "transactions seen"),
    long("violations", "findings of verdict violation"),
    long("suspects", "findings of verdict suspect"),
    long("inconclusive", "findings of verdict inconclusive"),
    string("result", "content of verdict.json"),
)
