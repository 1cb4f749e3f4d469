#!/bin/sh
# Checks whether a machine meets the expectations of jobs, line by line, and fails if not. The only argument is the user that runs jobs.
# ROOT is another root folder, for tests.
set -eu
[ $# -eq 1 ] || { echo "usage: machine-ready.sh USER" >&2; exit 2; }
user="$1"
root="${ROOT:-}"
missing=0

check() {
    what="$1"
    shift
    if "$@" > /dev/null 2>&1; then
        echo "ok: $what"
    else
        echo "MISSING: $what"
        missing=$((missing + 1))
    fi
}

has_library() { ldconfig -p | grep -q "$1"; }
in_group() { id -nG "$user" | tr ' ' '\n' | grep -qx "$1"; }
# AMD's vendor number in the list of PCI devices, on a display controller or an accelerator.
has_amd_gpu() {
    for device in "$root"/sys/bus/pci/devices/*; do
        [ -f "$device/vendor" ] || continue
        case "$(cat "$device/vendor") $(cat "$device/class")" in
            "0x1002 0x03"* | "0x1002 0x12"*) return 0 ;;
        esac
    done
    return 1
}

check "Docker answers" docker info
check "libnuma" has_library 'libnuma\.so\.1'
for group in docker render video; do
    check "$user is in the group $group" in_group "$group"
done
if has_amd_gpu; then
    check "the driver offers compute (/dev/kfd)" test -e "$root/dev/kfd"
    check "the driver offers a render node (/dev/dri)" test -e "$root/dev/dri/renderD128"
else
    echo "none: an AMD GPU"
fi
[ "$missing" -eq 0 ] || { echo "$missing missing" >&2; exit 1; }
