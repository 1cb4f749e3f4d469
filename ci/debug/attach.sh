#!/usr/bin/env bash
# Attaches a debugger to a process that hangs or has stopped on a GPU, prints its waves and registers, and lets it continue.
#
#   attach.sh [--tool rocgdb|gdb|lldb] PID
#   ATTACH_LIMIT           time limit in seconds [120]
#
# Without --tool: rocgdb, which shows waves, else lldb. gdb, which shows only host threads, must be requested.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
fail() {
    echo "attach.sh: $*" >&2
    exit 1
}
usage() {
    echo "usage: attach.sh [--tool rocgdb|gdb|lldb] PID" >&2
    exit 2
}

tool=""
if [ "${1:-}" = --tool ]; then
    [ $# -ge 2 ] || usage
    tool="$2"
    shift 2
fi
[ $# -eq 1 ] || usage
pid="$1"
case "$pid" in '' | *[!0-9]*) usage ;; esac
case "$tool" in '' | rocgdb | gdb | lldb) ;; *) usage ;; esac
[ -d "/proc/$pid" ] || fail "there is no process $pid"

# A program in PATH, or ROCm's.
find_tool() { command -v "$1" || PATH="${ROCM_PATH:-/opt/rocm}/bin:${ROCM_PATH:-/opt/rocm}/llvm/bin" command -v "$1"; }

if [ -n "$tool" ]; then
    program="$(find_tool "$tool")" || fail "there is no $tool, neither in PATH nor in ${ROCM_PATH:-/opt/rocm}"
else
    for tool in rocgdb lldb none; do
        [ "$tool" = none ] && fail "there is neither rocgdb (package rocm-gdb) nor lldb, neither in PATH nor in ${ROCM_PATH:-/opt/rocm}"
        program="$(find_tool "$tool")" && break
    done
fi
scope="$(cat /proc/sys/kernel/yama/ptrace_scope 2> /dev/null || echo 0)"
if [ "$scope" != 0 ] && [ "$(id -u)" != 0 ]; then
    echo "attach.sh: note: kernel.yama.ptrace_scope is $scope: without root, only a parent may attach" >&2
fi

status=0
limit="${ATTACH_LIMIT:-120}"
case "$tool" in
    lldb)
        # lldb may lack Python, and has no command for the registers of all threads.
        commands=()
        threads=("/proc/$pid/task"/*)
        for ((index = 1; index <= ${#threads[@]} && index <= 64; index++)); do
            commands+=(--one-line "thread select $index" --one-line "register read --all")
            commands+=(--one-line "disassemble --pc --count 12")
        done
        timeout --kill-after=10 "$limit" "$program" --batch --no-lldbinit --attach-pid "$pid" --source "$here/waves.lldb" \
            "${commands[@]}" --one-line "process detach" < /dev/null || status=$?
        ;;
    *) timeout --kill-after=10 "$limit" "$program" --nx --batch -p "$pid" -x "$here/waves.gdb" < /dev/null || status=$? ;;
esac
case "$status" in
    0) ;;
    124 | 137) fail "$tool has not ended within $limit s" ;;
    *) fail "$tool failed (status $status)" ;;
esac
