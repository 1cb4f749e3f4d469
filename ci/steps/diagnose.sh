#!/usr/bin/env bash
# Prints devices, driver, packages, processes and kernel log. Failures are reported and do not fail the step.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

look() {
    local title=$1 status=0
    shift
    echo
    echo "== $title: $*"
    if ! command -v "$1" > /dev/null; then
        echo "(there is no $1)"
        return
    fi
    timeout 60 "$@" || status=$?
    if ((status != 0)); then echo "(ended with $status)"; fi
}

main() {
    look "system" uname -a
    look "system" cat /etc/os-release
    look "processors" nproc
    look "memory" free -m
    look "disk" df -h
    look "devices" ls -l /dev/kfd /dev/dri
    look "devices" rocminfo
    look "devices" amd-smi static
    look "devices" lspci -nn -d 1002:
    look "driver" cat /sys/module/amdgpu/version
    look "driver" modinfo -F version amdgpu
    look "packages" dpkg-query --show 'rocm*' 'hip*' 'libamd*' 'libhsa*'
    look "packages" rpm --query --all 'rocm*' 'hip*'
    look "processes" ps -eo pid,ppid,user,etimes,rss,comm --sort=-rss
    look "kernel log" dmesg --ctime --level=emerg,alert,crit,err,warn
    look "core dumps" cat /proc/sys/kernel/core_pattern
}

step "$0"
