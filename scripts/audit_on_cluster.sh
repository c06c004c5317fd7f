#!/usr/bin/env bash
# Audits the sample dump on a Spark cluster of its own: a standalone master and two workers on the
# loopback interface, on ports that are free, stopped at the end. Everything lies in build/cluster.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
readonly here
readonly work=$here/build/cluster
readonly dump=$here/tests/dumps/hanging-sample
readonly as_of=1795240070221
readonly workers=2

fail() {
    echo "audit-cluster: $1" >&2
    exit 1
}

started=()

stop_all() {
    ((${#started[@]})) || return 0
    kill "${started[@]}" 2>/dev/null || true
    wait "${started[@]}" 2>/dev/null || true
}

# Starts a daemon of Spark in the background; its output is build/cluster/NAME.log.
start() { # NAME CLASS ARGUMENT…
    local name=$1
    shift
    : >"$work/$name.log" # there before anybody waits for what it will say
    "$spark_home/bin/spark-class" "$@" >"$work/$name.log" 2>&1 </dev/null &
    started+=($!)
}

# Prints what the pattern finds in a log as soon as it is there.
wait_for() { # NAME PATTERN
    local tries=300
    while ((tries--)); do
        grep --only-matching --extended-regexp --max-count=1 "$2" "$work/$1.log" && return
        kill -0 "${started[-1]}" 2>/dev/null || break
        sleep 0.2
    done
    fail "the $1 does not start; see $work/$1.log"
}

start_cluster() {
    local number
    start master org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 0 --webui-port 0
    master=$(wait_for master 'spark://127\.0\.0\.1:[0-9]+')
    for ((number = 1; number <= workers; number++)); do
        start "worker-$number" org.apache.spark.deploy.worker.Worker --host 127.0.0.1 --port 0 \
            --webui-port 0 --cores 1 --memory 1g --work-dir "$work/worker-$number" "$master"
        wait_for "worker-$number" 'Successfully registered' >"$work/registered"
    done
}

cd "$here"
scripts/require_java.sh
rm -rf "$work"
mkdir -p "$work"
homes=("$here"/.venv/lib/python3.*/site-packages/pyspark)
spark_home=${homes[0]}
export SPARK_HOME=$spark_home SPARK_LOCAL_IP=127.0.0.1 SPARK_NO_DAEMONIZE=1
trap stop_all EXIT
trap 'exit 1' INT TERM
start_cluster
echo "audit-cluster: $master with $workers workers"

submit() { # ARGUMENT…
    ./spark-submit.sh --master "$master" "$@"
}

echo "audit-cluster: doctor"
submit -- doctor --dump "$dump" --out "$work/audits"

echo "audit-cluster: audit"
code=0
submit -- audit --quiet --dump "$dump" --out "$work/audits" --as-of "$as_of" --policy default ||
    code=$?
((code == 1)) || fail "the audit of the sample ended with code $code; 1 was expected"
# The sample report may have been made by older code, which is part of its audit's identity.
cmp <(grep -v '"audit_id"' "$work/audits/verdict.json") \
    <(grep -v '"audit_id"' docs/sample-report/verdict.json) ||
    fail "the verdict is not that of the same audit on one machine"

echo "audit-cluster: --deploy-mode cluster, which Spark refuses for Python on this kind of cluster"
code=0
submit --deploy-mode cluster -- doctor >"$work/deploy-mode.log" 2>&1 || code=$?
grep --quiet 'not supported for python applications on standalone' "$work/deploy-mode.log" ||
    fail "Spark did not refuse it (code $code); see $work/deploy-mode.log"
echo "audit-cluster: all as expected"
