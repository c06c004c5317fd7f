#!/usr/bin/env bash
# Succeeds when the Java that Spark would use is 17 or newer; else one sentence and exit 2.
set -euo pipefail

readonly HINT="install a Java 17 or 21 runtime (Debian: apt-get install openjdk-17-jre-headless) \
and put it on PATH or name it in JAVA_HOME"

fail() {
    echo "eosaudit: $1; $HINT" >&2
    exit 2
}

# The same choice as Spark's own launcher makes.
if [[ -n ${JAVA_HOME:-} ]]; then
    java=$JAVA_HOME/bin/java
    [[ -x $java ]] || fail "JAVA_HOME is $JAVA_HOME, but there is no $java"
else
    java=$(command -v java) || fail "Spark needs Java, and there is no java on PATH"
fi

banner=$("$java" -version 2>&1) || fail "$java does not start (${banner%%$'\n'*})"
if [[ ! $banner =~ version\ \"([0-9]+)(\.([0-9]+))? ]]; then
    fail "cannot read the version of $java (${banner%%$'\n'*})"
fi
major=${BASH_REMATCH[1]}
[[ $major != 1 ]] || major=${BASH_REMATCH[3]} # Java 8 calls itself 1.8
((major >= 17)) || fail "$java is version $major, Spark 4 needs 17 or newer"
