#!/usr/bin/env bash
# The one way in: finds Spark, ships the code, adds the defaults that the user did not give, and
# becomes spark-submit. ./spark-submit.sh --help explains the use.
set -euo pipefail

show_help() {
    cat <<'HELP'
eosaudit: did exactly-once hold? Audits copies of Kafka log directories, without a cluster.

usage: ./spark-submit.sh [--dry-run] SUBCOMMAND [ARGUMENT…]
       ./spark-submit.sh [--dry-run] SPARK-SUBMIT-OPTION… -- SUBCOMMAND [ARGUMENT…]

subcommands (SUBCOMMAND --help shows more):
  audit    audit a dump and write the findings to Delta tables
  report   print the result of a finished audit again, and write its report
  explain  show what blocks consumers of a partition, or what an incident did, and what to do
  checks   list the checks, or print the manual of one
  doctor   check what is missing on this machine or cluster
  export   write the records that a consumer would receive to a Delta table

examples:
  ./spark-submit.sh audit --dump /copies/broker-1 --out /audits
      one broker's log directory, with a Spark that is started for it on this machine
  ./spark-submit.sh --master yarn --conf spark.executor.memory=8g -- \
      audit --dump /copies --out hdfs:///audits --as-of 1795236470221
      a folder of brokers, on a cluster
  ./spark-submit.sh audit --bootstrap kafka-1:9092 --out /audits
      a live cluster, over the Kafka protocol
  ./spark-submit.sh checks hanging_transaction
      what this finding proves, and when it is legal
  ./spark-submit.sh --dry-run --driver-memory 8g -- audit --dump /copies --out /audits
      show the spark-submit command, run nothing

Options before -- go to spark-submit as they are, and win over every default of ours
(conf/spark-defaults.conf). --dry-run prints the command, ready for a shell; --verbose says which
code is shipped. Relative paths are relative to where you are.

Spark is the one of SPARK_HOME, else of .venv (make setup), else the spark-submit on PATH.
EOSAUDIT_JARS names a folder with the Delta jars, where they are neither in .jars nor in Spark.

exit codes (client mode):
  0  audited, nothing wrong
  1  at least one proven violation, or the acceptance policy is not met
  2  wrong arguments, configuration or input; nothing was written
  3  the audit is incomplete: a check crashed, a file could not be read, the acceptance policy
     could not be evaluated, or Spark failed
HELP
}

fail() {
    echo "spark-submit.sh: $1" >&2
    exit 2
}

# The folder of this script, through any number of links; the working folder stays the caller's.
own_folder() {
    local path=${BASH_SOURCE[0]} target
    while [[ -L $path ]]; do
        target=$(readlink "$path")
        [[ $target == /* ]] || target=$(dirname "$path")/$target
        path=$target
    done
    cd "$(dirname "$path")" && pwd -P
}

# --- the command line ---------------------------------------------------------------------------

dry_run=
verbose=
spark_options=()
tool_arguments=()

split_arguments() {
    local before=()
    while [[ ${1:-} == --dry-run || ${1:-} == --verbose ]]; do
        before+=("$1")
        shift
    done
    case ${1:-} in
        -h | --help | --version) ;;
        -*)
            while (($#)) && [[ $1 != -- ]]; do
                before+=("$1")
                shift
            done
            (($#)) || fail "put -- between spark-submit's options and the subcommand; see --help"
            shift
            ;;
    esac
    take_own_options "${before[@]}"
    tool_arguments=("$@")
}

# --dry-run is ours alone; --verbose spark-submit knows too.
take_own_options() {
    local option
    for option in "$@"; do
        [[ $option != --verbose ]] || verbose=yes
        if [[ $option == --dry-run ]]; then
            dry_run=yes
        else
            spark_options+=("$option")
        fi
    done
}

# What needs no Spark runs as plain Python: half a second instead of five.
is_plain() {
    local argument
    case ${tool_arguments[0]:-} in
        audit | report | explain | doctor | export) ;;
        *) return 0 ;;
    esac
    for argument in "${tool_arguments[@]:1}"; do
        [[ $argument != --help && $argument != -h ]] || return 0
    done
    return 1
}

# Before Java starts, which takes seconds. A Python that lacks a library cannot tell; the driver will.
refuse_wrong_arguments() {
    local said code=0
    said=$(PYTHONPATH=$here "$(own_python)" -m jobs.cli.arguments "${tool_arguments[@]}" 2>&1) ||
        code=$?
    if ((code == 2)); then
        echo "$said" >&2
        exit 2
    fi
}

# --- what the user gave to Spark ----------------------------------------------------------------

declare -A given=() # option without its dashes -> value
declare -A conf=()  # spark.… -> value, as Spark itself would see it

read_options() {
    local option value words=("${spark_options[@]}")
    local -A from_options=()
    while ((${#words[@]})); do
        option=${words[0]}
        words=("${words[@]:1}")
        case $option in
            --conf=* | --deploy-mode=* | --driver-java-options=* | --driver-memory=* | --jars=* | \
                --master=* | --packages=* | --properties-file=* | --py-files=* | --remote=*)
                value=${option#*=}
                option=${option%%=*}
                ;;
            --conf | -c | --deploy-mode | --driver-java-options | --driver-memory | --jars | \
                --master | --packages | --properties-file | --py-files | --remote)
                ((${#words[@]})) || fail "$option needs a value before --"
                value=${words[0]}
                words=("${words[@]:1}")
                ;;
            --load-spark-defaults) value=yes ;;
            *) continue ;;
        esac
        if [[ $option == --conf || $option == -c ]]; then
            from_options[${value%%=*}]=${value#*=}
        else
            given[${option#--}]=$value
        fi
    done
    # Spark's own order: defaults, then the properties file, which replaces them, then --conf.
    if [[ -z ${given[properties-file]:-} || -n ${given[load-spark-defaults]:-} ]]; then
        read_properties "${SPARK_CONF_DIR:-$spark_home/conf}/spark-defaults.conf" conf
    fi
    [[ -z ${given[properties-file]:-} ]] || read_properties "${given[properties-file]}" conf
    for option in "${!from_options[@]}"; do
        conf[$option]=${from_options[$option]}
    done
}

# Reads a Java properties file (key, then blanks, = or :, then value) into the named array.
read_properties() { # FILE ARRAY
    local -n into=$2
    local line key
    local key_then_value='^([^#!=:[:space:]][^=:[:space:]]*)[[:space:]]*[=:]?[[:space:]]*(.*)$'
    [[ -r $1 ]] || return 0
    while read -r line || [[ -n $line ]]; do # read strips the blanks around the line
        if [[ $line =~ $key_then_value ]]; then
            key=${BASH_REMATCH[1]}
            # shellcheck disable=SC2034,SC2004 # a name reference to an associative array
            into[$key]=${BASH_REMATCH[2]}
        fi
    done <"$1"
}

# --- Spark, Python, jars, code ------------------------------------------------------------------

spark_home=
spark_submit=

find_spark() {
    local in_venv=("$here"/.venv/lib/python3.*/site-packages/pyspark)
    if [[ -n ${SPARK_HOME:-} ]]; then
        spark_home=$SPARK_HOME
        [[ -x $spark_home/bin/spark-submit ]] ||
            fail "SPARK_HOME is $SPARK_HOME, but there is no bin/spark-submit in it"
    elif [[ -x ${in_venv[0]}/bin/spark-submit ]]; then
        spark_home=${in_venv[0]}
        export SPARK_HOME=$spark_home
    elif spark_submit=$(command -v spark-submit); then
        spark_home=$(dirname "$(dirname "$(readlink -f "$spark_submit")")")
        return
    else
        fail "there is no Spark: run 'make setup' in $here, or name one in SPARK_HOME"
    fi
    spark_submit=$spark_home/bin/spark-submit
}

own_python() {
    if [[ -x $here/.venv/bin/python ]]; then
        echo "$here/.venv/bin/python"
    else
        "$here/scripts/find_python.sh"
    fi
}

# Executors of a YARN or Kubernetes cluster do not have our .venv; there only the driver uses it.
choose_python() { # MASTER
    local variable=PYSPARK_PYTHON
    [[ -x $here/.venv/bin/python ]] || return 0
    [[ -z ${PYSPARK_PYTHON:-}${PYSPARK_DRIVER_PYTHON:-} ]] || return 0
    [[ -z ${conf[spark.pyspark.python]:-}${conf[spark.pyspark.driver.python]:-} ]] || return 0
    if [[ $1 == yarn || $1 == k8s://* ]]; then
        [[ ${given[deploy-mode]:-${conf[spark.submit.deployMode]:-client}} == client ]] || return 0
        variable=PYSPARK_DRIVER_PYTHON
    fi
    export "$variable=$here/.venv/bin/python"
}

# Prints the Delta jars to be added, comma-separated; nothing where Spark will have them anyway.
delta_jars() {
    local named=${given[jars]:-${conf[spark.jars]:-}}
    local packages=${given[packages]:-${conf[spark.jars.packages]:-}}
    local folder=${EOSAUDIT_JARS:-$here/.jars} jars
    [[ $named,$packages != *delta-spark* ]] || return 0
    ! compgen -G "$spark_home/jars/delta-spark*.jar" >/dev/null || return 0
    jars=("$folder"/delta-*.jar)
    [[ -e ${jars[0]} ]] ||
        fail "there are no Delta jars in $folder: run 'make setup' in $here, or give --packages"
    (IFS=, && echo "${jars[*]}")
}

# Prints the path of a zip of our code: of the commit, or of the work tree where it differs.
code_zip() {
    local folders=(jobs schemas udfs conf) build=$here/build commit=nocommit changes=unknown zip
    mkdir -p "$build" 2>/dev/null && [[ -w $build ]] ||
        build=${XDG_CACHE_HOME:-$HOME/.cache}/eosaudit
    mkdir -p "$build"
    # Only a repository that starts here is ours; an unpacked archive may lie inside another one.
    if [[ -z $(git -C "$here" rev-parse --show-prefix 2>/dev/null || echo none) ]] &&
        commit=$(git -C "$here" rev-parse --short=12 --verify --quiet HEAD); then
        changes=$(git -C "$here" status --porcelain -- "${folders[@]}")
    else
        commit=nocommit
    fi
    if [[ -n $changes ]]; then
        find "$build" -maxdepth 1 -name 'eosaudit-*-dirty.zip' -mtime +1 -delete
        "$(own_python)" "$here/scripts/zip_code.py" "$here" "$build" "eosaudit-$commit" \
            "${folders[@]}"
        return
    fi
    zip=$build/eosaudit-$commit.zip
    if [[ ! -e $zip ]]; then
        # In UTC, because a zip holds local times.
        TZ=UTC git -C "$here" archive --format=zip --output="$zip.$$" HEAD "${folders[@]}"
        mv "$zip.$$" "$zip"
    fi
    echo "$zip"
}

# --- the command --------------------------------------------------------------------------------

command_line=()

# Spark takes the last of equal options: the user's come first, unchanged; what must be merged
# follows with the user's value in it.
compose() {
    local master zip jars modules
    read_options
    master=${given[master]:-${conf[spark.master]:-${MASTER:-}}}
    command_line=("$spark_submit" "${spark_options[@]}")
    if [[ -z $master && -z ${given[remote]:-}${conf[spark.remote]:-}${SPARK_REMOTE:-} ]]; then
        master='local[*]'
        command_line+=(--master "$master")
    fi
    add_defaults "$master"
    [[ $master != local* || $master == local-cluster* ]] || prefer_loopback
    choose_python "$master"

    zip=$(code_zip)
    modules=${given[py-files]:-${conf[spark.submit.pyFiles]:-}}
    command_line+=(--py-files "$(join , "$zip" "$modules")")
    jars=$(delta_jars)
    if [[ -n $jars ]]; then
        command_line+=(--jars "$(join , "${given[jars]:-${conf[spark.jars]:-}}" "$jars")")
    fi
    if [[ -n $verbose$dry_run ]]; then
        echo "spark-submit.sh: the code is shipped as $zip" >&2
    fi
    command_line+=("$here/jobs/main.py" "${tool_arguments[@]}")
}

join() { # SEPARATOR A B: both, or the one that is not empty
    if [[ -n $2 && -n $3 ]]; then
        echo "$2$1$3"
    else
        echo "$2$3"
    fi
}

add_defaults() { # MASTER
    local -A defaults=()
    local key
    local log4j="\"-Dlog4j2.configurationFile=$here/conf/log4j2.properties\""
    read_properties "$here/conf/spark-defaults.conf" defaults
    if [[ -n ${given[driver-memory]:-}${SPARK_DRIVER_MEMORY:-} ]]; then
        unset 'defaults[spark.driver.memory]'
    fi
    has_own_log4j || defaults[spark.driver.defaultJavaOptions]+=" $log4j"
    ! is_short_work "$1" || defaults[spark.driver.defaultJavaOptions]+=" $ONE_COMPILER"
    while read -r key; do
        case $key in
            *.defaultJavaOptions) # Spark puts these before the user's extraJavaOptions
                add_conf "$key" "$(join ' ' "${defaults[$key]}" "${conf[$key]:-}")" ;;
            spark.sql.extensions)
                [[ ${conf[$key]:-} == *"${defaults[$key]}"* ]] ||
                    add_conf "$key" "$(join , "${conf[$key]:-}" "${defaults[$key]}")"
                ;;
            *) [[ -v conf[$key] ]] || add_conf "$key" "${defaults[$key]}" ;;
        esac
    done < <(printf '%s\n' "${!defaults[@]}" | LC_ALL=C sort)
}

# With one compiler the JVM reserves 48 MB for compiled code, and ends an audit that needs more.
readonly ONE_COMPILER='-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m'

# In so short a life what the JVM's second compiler makes is never used, yet it takes a quarter of
# the processor. Whoever wants it all the same says -XX:TieredStopAtLevel=4.
is_short_work() { # MASTER
    local bytes=0 part paths=() words=("${tool_arguments[@]:1}")
    local -r most_bytes=$((64 << 20)) most_seconds=2
    [[ $1 == local* && $1 != local-cluster* ]] || return 1
    case ${tool_arguments[0]} in
        report | explain) return 0 ;;
        audit | export) ;;
        *) return 1 ;;
    esac
    while ((${#words[@]})); do
        case ${words[0]} in
            --dump) paths+=("${words[1]:-}") ;;
            --dump=*) paths+=("${words[0]#*=}") ;;
            --bootstrap | --bootstrap=*) return 1 ;; # nobody knows yet how much there is
        esac
        words=("${words[@]:1}")
    done
    # A folder that takes long to look through is no small one.
    for part in "${paths[@]}"; do
        part=$(timeout "$most_seconds" du -sb -- "$part" 2>/dev/null) || return 1
        ((bytes += ${part%%[[:space:]]*}))
    done
    ((bytes <= most_bytes))
}

add_conf() {
    command_line+=(--conf "$1=$2")
}

# Log4j finds a file in the configuration folder by itself; a driver in the cluster has no ours.
has_own_log4j() {
    local options="${given[driver-java-options]:-} ${conf[spark.driver.extraJavaOptions]:-} \
${conf[spark.driver.defaultJavaOptions]:-} ${SPARK_SUBMIT_OPTS:-} ${JDK_JAVA_OPTIONS:-}"
    [[ ${given[deploy-mode]:-${conf[spark.submit.deployMode]:-client}} != cluster ]] || return 0
    [[ $options != *log4j*onfigurationFile* && $options != *log4j.configuration* ]] || return 0
    compgen -G "${SPARK_CONF_DIR:-$spark_home/conf}/log4j2.*" | grep -qv '\.template$'
}

# A Spark for this machine alone opens no port to others.
prefer_loopback() {
    export SPARK_LOCAL_IP=${SPARK_LOCAL_IP:-127.0.0.1}
    [[ -v conf[spark.ui.enabled] ]] || add_conf spark.ui.enabled false
}

print_command() {
    local variable
    for variable in SPARK_HOME SPARK_LOCAL_IP PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON; do
        [[ -z ${!variable:-} ]] || printf '%s=%q \\\n' "$variable" "${!variable}"
    done
    printf '%q' "${command_line[0]}"
    printf ' \\\n  %q' "${command_line[@]:1}"
    echo
}

# Becomes the command, so that signals reach it and its exit code is ours.
run() {
    [[ -n $dry_run ]] || exec "${command_line[@]}"
    print_command
    exit
}

run_plain() {
    local python
    python=$(own_python)
    # Without .venv the libraries may be those of an installed Spark.
    if [[ ! -x $here/.venv/bin/python ]]; then
        find_spark
        PYTHONPATH=$spark_home/python:$(compgen -G "$spark_home/python/lib/py4j-*.zip" || true)
        export PYTHONPATH
    fi
    command_line=("$python" "$here/jobs/main.py" "${tool_arguments[@]}")
    run
}

main() {
    if (($# == 0)); then
        show_help >&2
        exit 2
    fi
    split_arguments "$@"
    case ${tool_arguments[0]:-} in
        '') fail "there is no subcommand; see --help" ;;
        -h | --help) show_help && exit ;;
    esac
    if is_plain; then
        run_plain
    fi
    refuse_wrong_arguments
    find_spark
    compose
    [[ -n $dry_run ]] || "$here/scripts/require_java.sh"
    run
}

((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) || fail "this needs bash 4.4 or newer"
here=$(own_folder)
readonly here
main "$@"
