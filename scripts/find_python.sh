#!/usr/bin/env bash
# Prints a Python 3.11 or newer that can make a virtual environment; else one sentence and exit 2.
# PYTHON names one to be used instead of the search.
set -euo pipefail

fail() {
    echo "eosaudit: $1" >&2
    exit 2
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# Debian splits this off into the package python3-venv.
makes_environments() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null
}

if [[ -n ${PYTHON:-} ]]; then
    new_enough "$PYTHON" || fail "PYTHON is $PYTHON, which is no Python 3.11 or newer"
    makes_environments "$PYTHON" || fail "$PYTHON has no venv module (Debian: python3-venv)"
    echo "$PYTHON"
    exit
fi

without_venv=
for candidate in python3.13 python3.12 python3.11 python3; do
    # Running it, not only finding it: version managers leave names on PATH that lead nowhere.
    new_enough "$candidate" || continue
    if makes_environments "$candidate"; then
        command -v "$candidate"
        exit
    fi
    without_venv=$candidate
done
[[ -z $without_venv ]] || fail "$without_venv has no venv module (Debian: python3-venv)"
fail "there is no Python 3.11, 3.12 or 3.13 on PATH; install one, or name it: make setup PYTHON=…"
