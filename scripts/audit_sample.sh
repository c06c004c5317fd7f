#!/usr/bin/env bash
# Audits the sample dump and succeeds when the audit finds what is known to be in it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
readonly here
readonly dump=tests/dumps/hanging-sample
readonly as_of=1795240070221
readonly out=build/sample
readonly expected_code=hanging_transaction

cd "$here"
rm -rf "$out"
./spark-submit.sh audit --dump "$dump" --out "$out" --as-of "$as_of" --policy default &&
    code=0 || code=$?
if ((code != 1)); then
    echo "audit-sample: the audit of $dump ended with code $code; 1 was expected" >&2
    exit 1
fi
.venv/bin/python - "$out/verdict.json" "$expected_code" <<'PYTHON'
import json
import pathlib
import sys

path, expected = sys.argv[1:]
try:
    verdict = json.loads(pathlib.Path(path).read_text())
except (OSError, ValueError) as error:
    sys.exit(f"audit-sample: cannot read {path}: {error}")
found = {(f["code"], f["severity"], f["verdict"]) for f in verdict["findings"]}
wrong = {f for f in found if f[1:] == ("error", "violation")}
if wrong != {(expected, "error", "violation")}:
    sys.exit(f"audit-sample: expected one {expected} in {path}, found {sorted(found) or 'nothing'}")
print(f"audit-sample: as expected, {expected} was found and nothing else is wrong")
PYTHON
