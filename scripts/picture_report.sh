#!/usr/bin/env bash
# Makes FOLDER/report.png, the picture of the upper part of FOLDER/report.html that the README shows.
# Without Chromium the old picture stays.
set -euo pipefail

readonly folder=${1:?picture_report.sh FOLDER}
browser=$(command -v chromium || command -v google-chrome) || {
    echo "picture_report.sh: no Chromium here; $folder/report.png stays as it is" >&2
    exit 0
}
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --hide-scrollbars --user-data-dir="$profile" --host-resolver-rules='MAP * ~NOTFOUND' \
    --window-size=1000,1150 --screenshot="$PWD/$folder/report.png" \
    "file://$PWD/$folder/report.html" 2>/dev/null
