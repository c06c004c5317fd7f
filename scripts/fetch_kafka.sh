#!/usr/bin/env bash
# usage: fetch_kafka.sh VERSION…
# Puts the jars of Kafka brokers into .kafka/VERSION, by Maven. Only tests/brokers needs them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
readonly here

fail() {
    echo "eosaudit: $1" >&2
    exit 2
}

(($#)) || fail "usage: fetch_kafka.sh VERSION…"
for version; do
    [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "$version is no version of Kafka"
    target=$here/.kafka/$version
    [[ ! -f $target/.done ]] || continue
    command -v mvn >/dev/null || fail "Kafka's brokers come by Maven, and there is no mvn on PATH"
    mkdir -p "$here/.kafka"
    # Tests fetch side by side: whoever is first puts a whole folder there.
    part=$(mktemp -d "$here/.kafka/$version.XXXXXX")
    mvn --batch-mode --quiet --file "$here/conf/kafka/pom.xml" "-Dkafka.version=$version" \
        dependency:copy-dependencies "-DoutputDirectory=$part" >"$part/fetch.log" 2>&1 ||
        fail "Maven brought no Kafka $version (log: $part/fetch.log)"
    touch "$part/.done"
    chmod 755 "$part"
    mv --no-target-directory "$part" "$target" 2>/dev/null || rm -rf "$part"
    [[ -f $target/.done ]] || fail "$target is not whole; remove it and try again"
done
