#!/usr/bin/env bash
# What the image runs: an executor where Spark's Kubernetes backend asks for one, else
# spark-submit.sh with the arguments given.
set -euo pipefail

if [[ ${1:-} != executor ]]; then
    exec /opt/eosaudit/spark-submit.sh "$@"
fi

# SPARK_JAVA_OPT_0, _1, …: an option each, in the order of their numbers.
java_options=()
while IFS= read -r name; do
    java_options+=("${!name}")
done < <(compgen -e | grep '^SPARK_JAVA_OPT_' | sort --version-sort)

exec java "${java_options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "${SPARK_CLASSPATH:-}:$SPARK_HOME/jars/*" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" \
    --executor-id "$SPARK_EXECUTOR_ID" \
    --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" \
    --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
    --podName "$SPARK_EXECUTOR_POD_NAME"
