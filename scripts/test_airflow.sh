#!/usr/bin/env bash
# Tests the DAG under a real Airflow with a fresh database. `make test-airflow` installs it first.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
readonly here
readonly bin=$here/.venv-airflow/bin

export AIRFLOW_HOME=$here/build/airflow
export AIRFLOW__CORE__LOAD_EXAMPLES=False
export AIRFLOW__CORE__DAGS_FOLDER=$here/dags
export AIRFLOW_CONN_SPARK_DEFAULT='{"conn_type": "spark", "host": "local[2]"}'
rm -rf "$AIRFLOW_HOME"
mkdir -p "$AIRFLOW_HOME"
timeout 300 "$bin/airflow" db migrate >"$AIRFLOW_HOME/migrate.log" 2>&1 || {
    tail -5 "$AIRFLOW_HOME/migrate.log" >&2
    exit 1
}
# Nothing of the project's own tests: its libraries are not in this environment.
cd "$here/tests/dags"
exec "$bin/python" -m pytest -c /dev/null --rootdir . --confcutdir . -p no:cacheprovider \
    --show-capture=no "$@" .
