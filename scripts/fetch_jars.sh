#!/usr/bin/env bash
# Puts the two Delta jars of conf/jars.sha256 into .jars/, through Spark's own resolver.
#
# Only these two: a plain --packages brings 33, most of which Spark has already. Nothing in the
# home folder is read or written by the resolver, because a ~/.m2 that holds POM files without
# their jars makes it fail; a jar found there is used only if its sum is right.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
readonly here
readonly jars=$here/.jars
readonly sums=$here/conf/jars.sha256
readonly work=$jars/ivy
readonly log=$jars/fetch.log
readonly package=io.delta:delta-spark_4.2_2.13:4.4.0
excluded='io.delta:delta-kernel*,org.apache.*:*,org.slf4j:*,com.*:*,io.unitycatalog:*,io.airlift:*,'
excluded+='commons-*:*,javax.*:*,org.locationtech*:*,org.roaringbitmap:*,org.xerial*:*,org.antlr:*'

fail() {
    {
        echo "eosaudit: cannot get the Delta jars: $1 (log: $log); on a machine without network," \
            "copy these files into $jars by hand and run make setup again:"
        awk '{ print "  " $2 "   sha256 " $1 }' "$sums"
    } >&2
    exit 2
}

all_right() {
    (cd "$1" 2>/dev/null && sha256sum --check --status "$sums" 2>/dev/null)
}

is_right() { # FILE NAME
    local wanted
    wanted=$(awk -v name="$2" '$2 == name { print $1 }' "$sums")
    [[ -f $1 && $(sha256sum <"$1") == "$wanted "* ]]
}

# Copies under another name first, so that a broken copy never looks whole.
take() { # FILE NAME
    cp "$1" "$jars/$2.part"
    mv "$jars/$2.part" "$jars/$2"
}

take_from_maven_cache() {
    local name artifact
    while read -r _ name; do
        artifact=${name%-4.4.0.jar}
        local file=${HOME:-/nonexistent}/.m2/repository/io/delta/$artifact/4.4.0/$name
        if is_right "$file" "$name"; then
            take "$file" "$name"
        fi
    done <"$sums"
}

resolve() {
    local spark=("$here"/.venv/lib/python3.*/site-packages/pyspark)
    [[ -x ${spark[0]}/bin/spark-submit ]] || fail "there is no Spark in $here/.venv"
    "$here/scripts/require_java.sh"
    rm -rf "$work"
    mkdir -p "$work/home"
    : >"$work/nothing.py"
    # An empty program: the resolver does its work before the program starts.
    SPARK_HOME=${spark[0]} PYSPARK_PYTHON=$here/.venv/bin/python SPARK_LOCAL_IP=127.0.0.1 \
        timeout 900 "${spark[0]}/bin/spark-submit" \
        --master 'local[1]' \
        --conf spark.ui.enabled=false \
        --conf "spark.jars.ivy=$work" \
        --driver-java-options "\"-Duser.home=$work/home\"" \
        --packages "$package" \
        --exclude-packages "$excluded" \
        "$work/nothing.py" >"$log" 2>&1 </dev/null || fail "Spark's resolver ended with code $?"
}

mkdir -p "$jars"
all_right "$jars" && exit
take_from_maven_cache
all_right "$jars" && exit

resolve
while read -r _ name; do
    file=$work/jars/io.delta_$name
    [[ -f $file ]] || fail "the resolver brought no $name"
    is_right "$file" "$name" || fail "$file is not the $name of $sums: the SHA-256 sum differs"
    take "$file" "$name"
done <"$sums"
rm -rf "$work" "$log"
