#!/usr/bin/env bash
# Describes a machine with GPUs in one text: devices, driver, packages, processes, kernel log.
#
#   diagnose.sh [FILE]     also writes the text to FILE
#   DIAGNOSE_LIMIT         time limit of each question in seconds [20]
#   DIAGNOSE_LINES         maximum lines of each answer [300]
#
# Every question may fail, and the text says so; the script itself fails only if it was called incorrectly. It shows
# only environment variables of ROCm and of this project, because others may be secrets. ROOT is another root folder,
# for tests.
set -uo pipefail

[ $# -le 1 ] || { echo "usage: diagnose.sh [FILE]" >&2; exit 2; }
limit="${DIAGNOSE_LIMIT:-20}"
lines="${DIAGNOSE_LINES:-300}"
root="${ROOT:-}"
for number in "$limit" "$lines"; do
    case "$number" in
        '' | *[!0-9]* | 0) echo "diagnose.sh: \"$number\" is no number of seconds or lines" >&2; exit 2 ;;
    esac
done

answer="$(mktemp)" || exit 2
trap 'rm -f "$answer"' EXIT
failed=()

heading() { printf '\n# %s\n' "$1"; }

# A question: its title, and the command that answers it.
ask() {
    local about="$1" status count
    shift
    printf '\n## %s\n' "$about"
    if ! command -v "$1" > /dev/null; then
        echo "(not answered: there is no $1)"
        failed+=("$about: there is no $1")
        return
    fi
    timeout --kill-after=5 "$limit" "$@" > "$answer" 2>&1 < /dev/null
    status=$?
    head -n "$lines" "$answer"
    count="$(wc -l < "$answer")"
    [ "$count" -le "$lines" ] || echo "(… $((count - lines)) more lines)"
    case "$status" in
        0) ;;
        124 | 137)
            echo "(not answered within $limit s)"
            failed+=("$about: not answered within $limit s")
            ;;
        *)
            echo "(failed: status $status)"
            failed+=("$about: status $status")
            ;;
    esac
}

# Several files, each after its name; there must be at least one.
show() {
    local about="$1" file
    shift
    local found=()
    for file in "$@"; do
        [ -r "$file" ] && [ -f "$file" ] && found+=("$file")
    done
    if [ ${#found[@]} -eq 0 ]; then
        printf '\n## %s\n(not there)\n' "$about"
        failed+=("$about: not there")
        return
    fi
    ask "$about" grep -H -s '' "${found[@]}"
}

diagnose() {
    echo "Diagnosis of $(hostname 2> /dev/null || echo 'this machine'), $(date -u +%Y-%m-%dT%H:%M:%SZ)"

    heading "Machine"
    ask "kernel" uname -a
    show "system" "$root/etc/os-release"
    ask "processors and memory" sh -c 'nproc && free -m'
    ask "disks" df -h
    ask "limits" bash -c 'ulimit -a'
    ask "who asks" id

    heading "Devices"
    ask "PCI devices of AMD" lspci -nn -d 1002:
    ask "device files" sh -c "ls -ln '$root'/dev/kfd '$root'/dev/dri"
    show "GPUs as the driver describes them" "$root"/sys/class/kfd/kfd/topology/nodes/*/{name,gpu_id,properties}
    ask "rocminfo" rocminfo
    ask "amd-smi" amd-smi static --asic --bus --vram
    ask "clocks, power, temperatures" amd-smi metric
    ask "Vulkan" vulkaninfo --summary

    heading "Driver"
    show "version" "$root/sys/module/amdgpu/version" "$root/sys/module/amdgpu/srcversion"
    show "parameters" "$root"/sys/module/amdgpu/parameters/*
    ask "module" modinfo amdgpu
    ask "modules that are loaded" sh -c "grep -E '^(amdgpu|amdkcl|amdttm|drm)' '$root'/proc/modules"

    heading "Packages"
    # shellcheck disable=SC2016 # dpkg-query fills these in
    ask "packages of Debian and Ubuntu" dpkg-query --show --showformat '${Package} ${Version} ${db:Status-Abbrev}\n' \
        'amd*' 'hip*' 'hsa*' 'libamd*' 'libhsa*' 'libdrm*' 'mesa-*' 'roc*' 'libnuma*' 'linux-image-*'
    show "ROCm" "$root"/opt/rocm*/.info/version*
    ask "libraries that a program finds" sh -c "ldconfig -p | grep -E 'amdhip|hsa-runtime|rocblas|rccl|amd_comgr|drm_amdgpu|vulkan'"
    ask "variables" sh -c "env | grep -E '^(AMD|FERROCM|GPU|HCC|HIP|HSA|MESA|NCCL|RCCL|ROC|VK)_[A-Z_]*=' | grep -vE '^[A-Z_]*(TOKEN|KEY|SECRET|PASS)' | sort"

    heading "Processes"
    ask "who uses the driver" sh -c "ls '$root'/sys/class/kfd/kfd/proc"
    ask "who has /dev/kfd open" fuser -v /dev/kfd
    ask "amd-smi" amd-smi process
    ask "busiest processes" ps -eo pid,ppid,user,stat,pcpu,pmem,etime,comm --sort=-pcpu

    heading "Kernel log"
    ask "of the driver" sh -c "dmesg --ctime | grep -iE 'amdgpu|amdkfd|kfd|drm|iommu|xgmi|mce|oom' | tail -n $lines"
    ask "of the driver, by the journal" sh -c "journalctl --dmesg --no-pager --boot | grep -iE 'amdgpu|amdkfd|drm' | tail -n $lines"

    heading "What was not answered"
    if [ ${#failed[@]} -eq 0 ]; then
        echo "nothing: all questions were"
    else
        printf '%s\n' "${failed[@]}"
    fi
}

if [ $# -eq 1 ]; then
    : > "$1" || { echo "diagnose.sh: $1 cannot be written" >&2; exit 2; }
    diagnose | tee "$1"
else
    diagnose
fi
exit 0
