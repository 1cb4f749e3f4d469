#!/usr/bin/env bash
# Runs a program under rocprofv3: a trace of its kernels, and counters of a group in counters.txt.
#
#   profile.sh [--group NAME] [--out FOLDER] -- PROGRAM [ARGUMENT …]
#   profile.sh --list      the groups
#
# FOLDER defaults to profile-NAME in the current folder. The status is the program's.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
fail() {
    echo "profile.sh: $*" >&2
    exit 1
}
usage() {
    echo "usage: profile.sh [--group NAME] [--out FOLDER] -- PROGRAM [ARGUMENT …], or profile.sh --list" >&2
    exit 2
}

# Groups and their counters, without comments and blank lines.
groups() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/counters.txt"; }

group=trace
folder=""
while [ $# -gt 0 ]; do
    case "$1" in
        --list)
            groups
            exit
            ;;
        --group | --out)
            [ $# -ge 2 ] || usage
            if [ "$1" = --group ]; then group="$2"; else folder="$2"; fi
            shift 2
            ;;
        --)
            shift
            break
            ;;
        *) usage ;;
    esac
done
[ $# -gt 0 ] || usage
line="$(groups | awk -F: -v name="$group" '$1 == name { print; exit }')"
[ -n "$line" ] || fail "there is no group \"$group\": $(groups | cut -d: -f1 | paste -sd' ')"
read -r -a counters <<< "${line#*:}"
folder="${folder:-profile-$group}"

program="$(command -v rocprofv3 || PATH="${ROCM_PATH:-/opt/rocm}/bin" command -v rocprofv3)" ||
    fail "there is no rocprofv3 (package rocprofiler-sdk), neither in PATH nor in ${ROCM_PATH:-/opt/rocm}"
options=(--kernel-trace --stats --output-format csv --output-directory "$folder")
if [ ${#counters[@]} -gt 0 ]; then options+=(--pmc "${counters[@]}"); fi
echo "profile.sh: $group, into $folder" >&2
exec "$program" "${options[@]}" -- "$@"
